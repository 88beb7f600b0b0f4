"""Whose request it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.daemon.server.clients import (
    find_client_address,
    group_client,
    is_loopback,
    is_proxy,
    parse_network,
)
from fabric.model.problems import FabricError

PROXIES = (parse_network("10.0.0.0/8"), parse_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.2.3.4", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("10.0.0.1", "198.51.100.7, nonsense", "10.0.0.1"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("fd00::1%eth0", "198.51.100.7", "198.51.100.7"),
    ],
)
def test_forwarded_addresses_count_from_proxies_only_and_from_the_right(
    peer: str, forwarded: str, client: str
) -> None:
    assert find_client_address(peer, forwarded, PROXIES) == client


@given(st.lists(st.ip_addresses().map(str), max_size=5))
def test_forged_forwarded_header_does_not_change_the_client_address(written: list[str]) -> None:
    forwarded = ", ".join([*written, "198.51.100.7"])
    assert find_client_address("10.0.0.1", forwarded, PROXIES) == "198.51.100.7"


def test_a_network_of_version_6_is_one_client() -> None:
    assert group_client("2001:db8::1") == group_client("2001:db8::ffff:1") == "2001:db8::/64"
    assert group_client("2001:db8:0:1::1") != group_client("2001:db8::1")
    assert group_client("192.0.2.1") == "192.0.2.1"


def test_loopback_is_known_in_every_form() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1")))
    assert not any(map(is_loopback, ("0.0.0.1", "::", "192.0.2.1", "example.com", "")))


def test_a_proxy_is_an_address_or_a_network() -> None:
    assert is_proxy("192.0.2.1", (parse_network("192.0.2.1"),))
    assert not is_proxy("192.0.2.2", (parse_network("192.0.2.1"),))
    with pytest.raises(FabricError) as caught:
        parse_network("everybody")
    assert caught.value.first.code == "usage/bad-network"
