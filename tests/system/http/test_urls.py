"""URLs: whether they can be called, and whether the connection is private."""

import pytest

from fabric.system.http.urls import is_loopback, is_plain, is_web_address


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("0.0.0.0", False),  # noqa: S104 - an address to recognize
        ("localhost.example", False),
        ("", False),
    ],
)
def test_only_loopback_stays_on_this_machine(host: str, *, is_here: bool) -> None:
    assert is_loopback(host) == is_here


@pytest.mark.parametrize(
    ("url", "is_valid"),
    [
        ("https://api.example.com/v1", True),
        ("HTTP://api.example.com:8080", True),
        ("https://[::1]:8080", True),
        ("api.example.com", False),
        ("ftp://api.example.com", False),
        ("https://", False),
        ("https://api.example.com:port", False),
        ("https://api.example.com:99999", False),
        ("https://api.example.com/a b", False),
        ("https://api.example.com\n", False),
        ("https://[::1", False),
    ],
)
def test_a_web_address_has_a_scheme_and_a_valid_host(url: str, *, is_valid: bool) -> None:
    assert is_web_address(url) == is_valid


@pytest.mark.parametrize(
    ("url", "is_open"),
    [
        ("http://api.example.com", True),
        ("HTTP://api.example.com", True),
        ("https://api.example.com", False),
        ("http://localhost:8080", False),
        ("http://[::1]:8080", False),
    ],
)
def test_plain_http_is_private_only_on_this_machine(url: str, *, is_open: bool) -> None:
    assert is_plain(url) == is_open
