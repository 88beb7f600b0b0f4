"""Hosts in addresses: read whatever the address is, and checked before a name leads to them."""

import pytest

from fabric.model.routing.hosts import (
    extract_host,
    extract_path,
    extract_port,
    extract_request_target,
    extract_routable_host,
)

_CODE = "x'}}) .. tostring(os.execute('touch pwned')) .. pickwrandom({{1,'x"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://shop.example.net/a?b#c", "shop.example.net"),
        ("https://Shop.Example.NET.", "shop.example.net"),
        ("https://user:word@shop.example.net:8443", "shop.example.net"),
        ("shop.example.net", "shop.example.net"),
        ("https://_a-b.c_d", "_a-b.c_d"),
        ("http://192.0.2.7:80", "192.0.2.7"),
    ],
)
def test_a_host_is_read_of_an_address(url: str, host: str) -> None:
    assert extract_routable_host(url) == host


@pytest.mark.parametrize(
    "host",
    [
        "", "a'b.example", "a b.example", 'a".example', "a;b.example", "a\\b", "a(b)", "a,b",
        "a..example", "-a.example", "a-.example", "é.example", "[::1]", "[", "a]b", f"{'a' * 64}.x",
        f"{'a.' * 127}example", _CODE, "a.example..",
    ],
)  # fmt: skip
def test_unroutable_address_yields_no_host(host: str) -> None:
    assert extract_routable_host(f"https://{host}/") == ""


@pytest.mark.parametrize(
    ("said", "target"),
    [
        ("", "/"), ("health", "/health"), ("/health?a=1", "/health?a=1"),
        ("https://a.example/health?a=1#b", "/health?a=1"), ("https://a.example", "/"),
    ],
)  # fmt: skip
def test_request_target_is_the_path_with_query(said: str, target: str) -> None:
    assert extract_request_target(said) == target


def test_half_an_address_is_read_without_a_fall() -> None:
    assert (extract_host("https://[a"), extract_port("https://[a"), extract_path("https://[a")) == (
        "",
        None,
        "",
    )
    assert extract_port("https://a:999999") is None
