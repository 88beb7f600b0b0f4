"""What people trip over is said before it happens."""

import pytest

from fabric.model.routing.routing import DesiredRouting, EndpointShare, Weights
from fabric.router.routing_warnings import list_ineffective_shift_warnings, list_routing_warnings


def codes(
    url: str = "https://shop.example.net",
    hostname: str = "api.example.com",
    ttl: int = 60,
    strategy: str = "",
    backend: str = "pdns",
) -> list[str]:
    shares = (EndpointShare("main", url, 100),)
    desired = DesiredRouting(hostname, "shop/dev", shares, ttl, strategy)
    return [one.code for one in list_routing_warnings(desired, backend)]


def test_valid_routing_has_no_warnings() -> None:
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


def test_ignored_parts_of_an_endpoint_url_are_warned() -> None:
    assert codes("https://shop.example.net:8443") == ["router/port"]
    assert codes("https://shop.example.net:443") == []
    assert codes("http://shop.example.net") == ["router/plain-http"]
    assert codes("https://192.0.2.7") == ["router/ip-address"]
    assert codes("http://192.0.2.7:80/a", backend="edge1") == [
        "router/path", "router/port", "router/plain-http",
    ]  # fmt: skip


def test_long_answers_and_names_at_the_top_are_named() -> None:
    assert codes(ttl=3600) == ["router/long-ttl"]
    assert codes(hostname="example.com") == ["router/apex"]
    assert codes(hostname="example.com", ttl=3600, backend="edge1") == []


@pytest.mark.parametrize("strategy", ["failover", "latency"])
def test_other_strategies_are_warned_to_use_weights(strategy: str) -> None:
    assert codes(strategy=strategy) == ["router/by-weight"]


def led(weights: Weights, ttl: int = 60, strategy: str = "") -> DesiredRouting:
    shares = tuple(EndpointShare(label, f"https://{label}.net", part) for label, part in weights)
    return DesiredRouting("example.com", "shop/dev", shares, ttl, strategy)


def test_plain_records_are_warned_to_have_no_weights() -> None:
    (found,) = list_routing_warnings(
        led((("main", 40), ("spare", 60)), strategy="latency"), "edge1-dns"
    )
    assert found.code == "router/no-weights"
    assert "routes only to `spare`" in found.message
    assert list_routing_warnings(led((("main", 100),)), "edge1-dns") == ()


def test_zone_file_is_warned_about_limited_weight_support() -> None:
    found = list_routing_warnings(led((("main", 40), ("spare", 60))), "local")
    assert "SRV" in {one.code: one.hint for one in found}["router/no-weights"]


@pytest.mark.parametrize(
    ("backend", "is_told"),
    [("pdns", True), ("local", True), ("edge1-dns", True), ("edge1", False), ("cloud1", False)],
)
def test_unsupported_health_check_is_warned(backend: str, *, is_told: bool) -> None:
    shares = (EndpointShare("main", "https://shop.example.net", 100),)
    desired = DesiredRouting("a.example.com", "shop/dev", shares, 60, check_path="/health")
    found = [one.code for one in list_routing_warnings(desired, backend)]
    assert found == ["router/nobody-asks"] * is_told


def test_ttl_below_a_minute_is_warned_for_plain_records() -> None:
    found = list_routing_warnings(led((("main", 100),), ttl=30), "edge1-dns")
    assert [one.code for one in found] == ["router/short-ttl"]


@pytest.mark.parametrize(
    ("before", "after", "backend", "is_told"),
    [
        ((70, 30), (60, 40), "edge1-dns", True),
        ((70, 30), (50, 50), "edge1-dns", True),
        ((70, 30), (40, 60), "edge1-dns", False),
        ((70, 30), (70, 30), "edge1-dns", False),
        ((70, 30), (60, 40), "edge1", False),
        ((70, 30), (60, 40), "local", True),
        ((70, 30), (40, 60), "local", False),
    ],
)
def test_ineffective_weight_shift_is_warned(
    before: tuple[int, int], after: tuple[int, int], backend: str, *, is_told: bool
) -> None:
    labels = ("main", "spare")
    was = tuple(zip(labels, before, strict=True))
    desired = led(tuple(zip(labels, after, strict=True)))
    codes = [one.code for one in list_ineffective_shift_warnings(desired, was, backend)]
    assert codes == ["router/unseen-shift"] * is_told
