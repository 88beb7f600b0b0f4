"""What people trip over is said before it happens."""

import pytest

from fabric.model.routing import DesiredRouting, EndpointShare
from fabric.router.routing_warnings import routing_warnings


def codes(
    url: str = "https://shop.example.net",
    hostname: str = "api.example.com",
    ttl: int = 60,
    strategy: str = "",
    backend: str = "pdns",
) -> list[str]:
    shares = (EndpointShare("main", url, 100),)
    desired = DesiredRouting(hostname, "shop/dev", shares, ttl, strategy)
    return [one.code for one in routing_warnings(desired, backend)]


def test_nothing_is_said_where_nobody_trips() -> None:
    assert codes() == []


@pytest.mark.parametrize(
    "host",
    ["a.execute-api.eu-west-1.amazonaws.com", "a.lambda-url.eu-west-1.on.aws", "a.b.workers.dev"],
)
def test_hosts_that_answer_for_their_own_name_only_are_named(host: str) -> None:
    assert codes(f"https://{host}") == ["router/host-header"]
    assert codes(f"https://{host}", backend="edge1") == []


def test_a_path_behind_a_name_is_lost() -> None:
    assert codes("https://shop.example.net/prod") == ["router/path"]
    assert codes("https://shop.example.net/") == []


def test_long_answers_and_names_at_the_top_are_named() -> None:
    assert codes(ttl=3600) == ["router/long-ttl"]
    assert codes(hostname="example.com") == ["router/apex"]
    assert codes(hostname="example.com", ttl=3600, backend="edge1") == []


@pytest.mark.parametrize("strategy", ["failover", "latency"])
def test_other_routings_are_by_weight_too(strategy: str) -> None:
    assert codes(strategy=strategy) == ["router/by-weight"]
