"""Whose request it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.daemon.server.clients import client_of, counted_as, is_loopback, is_proxy, network_of
from fabric.model.problems import FabricError

PROXIES = (network_of("10.0.0.0/8"), network_of("fd00::/8"))


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
    assert client_of(peer, forwarded, PROXIES) == client


@given(st.lists(st.ip_addresses().map(str), max_size=5))
def test_what_a_client_writes_by_itself_never_makes_it_another(written: list[str]) -> None:
    forwarded = ", ".join([*written, "198.51.100.7"])
    assert client_of("10.0.0.1", forwarded, PROXIES) == "198.51.100.7"


def test_a_network_of_version_6_is_one_client() -> None:
    assert counted_as("2001:db8::1") == counted_as("2001:db8::ffff:1") == "2001:db8::/64"
    assert counted_as("2001:db8:0:1::1") != counted_as("2001:db8::1")
    assert counted_as("192.0.2.1") == "192.0.2.1"


def test_loopback_is_known_in_every_form() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1")))
    assert not any(map(is_loopback, ("0.0.0.1", "::", "192.0.2.1", "example.com", "")))


def test_a_proxy_is_an_address_or_a_network() -> None:
    assert is_proxy("192.0.2.1", (network_of("192.0.2.1"),))
    assert not is_proxy("192.0.2.2", (network_of("192.0.2.1"),))
    with pytest.raises(FabricError) as caught:
        network_of("everybody")
    assert caught.value.first.code == "usage/bad-network"
