"""Which addresses are public, where a redirect may lead, and what a source's URL may be."""

import pytest

from fabric.model.problems import FabricError
from fabric.system.source.fetch import Hop, explain_refusal, is_public
from fabric.system.source.location import locate

PUBLIC = ("93.184.215.14", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101")
INWARD = (
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.127.255.254",
    "0.0.0.0",  # noqa: S104 - an address to refuse
    "0.1.2.3",
    "224.0.0.1",
    "255.255.255.255",
    "198.18.0.1",
    "240.0.0.1",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fc00::1",
    "fd12:3456::1",
    "ff02::1",
    "::ffff:a9fe:a9fe",
    "::ffff:127.0.0.1",
    "::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a00:1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:7f00:1::",
    "2001:db8::1",
)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_world_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", INWARD)
def test_an_address_inside_is_not_public(address: str) -> None:
    assert not is_public(address)
    assert "public" in explain_refusal(Hop("https", PUBLIC[0]), Hop("https", address))


HOPS = {
    "outwards": (Hop("http", "10.0.0.1"), Hop("http", "1.1.1.1"), ""),
    "inside": (Hop("http", "127.0.0.1"), Hop("http", "10.0.0.1"), ""),
    "outside": (Hop("https", "1.1.1.1"), Hop("https", "93.184.215.14"), ""),
    "to-https": (Hop("http", "1.1.1.1"), Hop("https", "1.1.1.1"), ""),
    "to-http": (Hop("https", "1.1.1.1"), Hop("http", "1.1.1.1"), "from https to http"),
    "inside-to-http": (Hop("https", "10.0.0.1"), Hop("http", "10.0.0.1"), "from https to http"),
}


@pytest.mark.parametrize(("here", "there", "why"), HOPS.values(), ids=HOPS)
def test_a_redirect_is_followed_unless_it_is_less_safe(here: Hop, there: Hop, why: str) -> None:
    found = explain_refusal(here, there)
    assert why in found
    assert bool(found) is bool(why)


BAD_URLS = {
    "no-scheme": "x.test/a.zip",
    "file": "file:///etc/passwd",
    "ftp": "ftp://x.test/a.zip",
    "user": "https://me@x.test/a.zip",
    "password": "https://me:hunter2@x.test/a.zip",
    "empty-user": "https://@x.test/a.zip",
    "no-host": "https:///a.zip",
    "bad-port": "https://x.test:99999/",
    "port-no-number": "https://x.test:a/",
    "newline": "https://x.test/a\r\nHost: y",
    "blank": "https://x.test/a b",
    "open-bracket": "https://[::1/a",
    "long": "https://x.test/" + "a" * 9000,
    "odd-host": "https://\u2024.test/",
}


@pytest.mark.parametrize("url", BAD_URLS.values(), ids=BAD_URLS)
def test_invalid_url_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(FabricError) as caught:
        locate(url)
    assert caught.value.first.code == "input/source-url"
    assert "hunter2" not in caught.value.first.message


GOOD_URLS = {
    "https://x.test": ("x.test", 443, "/", "https://x.test/"),
    "http://X.test:8080/a?k=v#f": ("x.test", 8080, "/a?k=v", "http://x.test:8080/a"),
    "https://[::1]:1/ä": ("::1", 1, "/%C3%A4", "https://[::1]:1/%C3%A4"),
    "https://bücher.test/a%20b": (
        "xn--bcher-kva.test",
        443,
        "/a%20b",
        "https://xn--bcher-kva.test/a%20b",
    ),
}


@pytest.mark.parametrize(("url", "parts"), GOOD_URLS.items(), ids=GOOD_URLS)
def test_a_url_is_taken_apart_and_shown_without_its_query(
    url: str, parts: tuple[str, int, str, str]
) -> None:
    found = locate(url)
    assert (found.host, found.port, found.target, found.shown) == parts


def test_a_redirect_may_be_relative() -> None:
    start = locate("https://x.test:444/a/b?c=d")
    assert start.join("../z").shown == "https://x.test:444/z"
    assert start.join("//y.test/z").shown == "https://y.test/z"
