"""Whom the local server listens to, and where."""

import contextlib

import pytest

from fabric.local.http_service import build_local_service, is_loopback, listen
from fabric.model.problems import FabricError
from fabric.system.http.connection import ConnectionEnds
from fabric.system.http.requests import BadRequestError, RequestHead


def admit(host: str, hosts: frozenset[str] = frozenset()) -> None:
    service = build_local_service(lambda _request, reply: None, hosts)
    head = RequestHead(method="GET", target="/", headers=(("host", host),))
    service.open_request(ConnectionEnds("127.0.0.1")).admit(head)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "api.localhost:80", "127.0.0.1:8787", "127.8.9.1", "[::1]:1"],
)
def test_names_of_this_machine_are_served(host: str) -> None:
    assert is_loopback(host.lower())
    admit(host)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil"])
def test_other_hosts_are_refused(host: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        admit(host)
    assert caught.value.status == 421


@pytest.mark.parametrize("host", ["name.example.net", "NAME.example.net:443"])
def test_a_tunnel_has_a_name_that_requests_may_be_for_too(host: str) -> None:
    admit(host, frozenset({"name.example.net"}))
    with pytest.raises(BadRequestError):
        admit(host, frozenset({"example.net"}))


def test_taken_port_is_reported_with_a_free_one() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(FabricError) as caught:
            listen("127.0.0.1", port)
    problem = caught.value.first
    assert problem.code == "local/port-taken"
    assert str(port) in problem.message
    assert "is free" in problem.hint
