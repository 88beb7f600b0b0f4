"""Who is let in, before a body is read."""

from ipaddress import ip_network

import pytest

from fabric.daemon.http_types import Right
from fabric.daemon.options import NetworkOptions
from fabric.daemon.server.hosts import build_host_names, is_cross_site
from fabric.daemon.server.keys import Keys, hash_server_key, parse_server_keys
from fabric.daemon.server.route_table import UNKNOWN, ApiRouteTable
from tests.daemon.server.serving import ROUTES, request, serving

KEYS = Keys((hash_server_key("all", "--api-key"), *parse_server_keys("read:look", "keys")))
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
PATHS = ("/", "/healthz", "/readyz", "/validate", "/deploy", "/runs/7", "/nothing", "/healthz/")


@pytest.mark.parametrize("method", METHODS)
def test_every_route_but_health_wants_a_key_and_wrong_is_as_missing(method: str) -> None:
    with serving(keys=KEYS) as found:
        for path in PATHS:
            missing = found.ask(request(f"{method} {path}"))
            wrong = found.ask(request(f"{method} {path}", "X-API-Key: wrong"))
            if path == "/healthz" and method in ("GET", "HEAD"):
                assert (missing.status, wrong.status) == (200, 200)
                continue
            assert (missing.status, wrong.status) == (401, 401)
            assert missing.body == wrong.body
            assert "www-authenticate" in missing.headers
            assert found.ask(request(f"{method} {path}", "X-API-Key: all")).status == 200
        assert "wrong" not in str(found.log)


def test_a_key_that_may_look_changes_nothing() -> None:
    with serving(keys=KEYS) as found:
        asked = ("GET /readyz", "POST /validate", "DELETE /runs/7")
        replies = [found.ask(request(one, "X-API-Key: look")) for one in asked]
        assert [one.status for one in replies] == [200, 200, 403]
        refused = found.ask(request("POST /deploy", "X-API-Key: look"))
        assert (refused.status, refused.code) == (403, "request/read-only-key")
        assert "POST /deploy" not in found.app.asked


def test_key_is_required_before_the_body_is_read() -> None:
    with serving(keys=KEYS) as found:
        assert found.ask(request("POST /deploy", "Content-Length: 99999999")).status == 401
        assert found.ask(request("POST /deploy", "Content-Length: 9")).status == 401
        sent = request("POST /deploy", "Content-Length: 99999999", "X-API-Key: all")
        assert found.ask(sent).status == 413


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1", "127.0.0.9:1",
    "[::1]:1", "a.localhost", "here", "here.", "mine.example", "localhost."])  # fmt: skip
def test_names_of_this_machine_are_served(host: str) -> None:
    with serving(NetworkOptions(hosts=("Mine.example",))) as found:
        assert found.ask(request(host=host)).status == 200


@pytest.mark.parametrize("host", ["other.example", "localhost.other.example", "127.0.0.1.example",
                                  "192.0.2.1", "mine.example.other", "[::2]", "a b"])  # fmt: skip
def test_other_host_names_are_rejected(host: str) -> None:
    with serving(NetworkOptions(hosts=("mine.example",))) as found:
        reply = found.ask(request("GET /healthz", host=host))
        assert (reply.status, reply.code) == (421, "request/unknown-host")


def test_without_a_key_only_known_names_are_served_beyond_loopback_too() -> None:
    found = build_host_names(NetworkOptions().address, "here", ())
    assert [found.knows(one, "192.0.2.1") for one in ("other.example", "192.0.2.9")] == [False] * 2
    assert [found.knows(one, "192.0.2.1") for one in ("192.0.2.1", "here", "localhost")] == [
        True
    ] * 3


def test_with_a_key_any_name_is_served_beyond_loopback_unless_names_were_given() -> None:
    everywhere = NetworkOptions().address
    found = build_host_names(everywhere, "here", (), has_keys=True)
    assert found.knows("other.example", "192.0.2.1")
    # A page in a browser of this machine may have given its own name to it.
    assert [found.knows(one, "127.0.0.1") for one in ("other.example", "here", "localhost")] == [
        False, True, True,
    ]  # fmt: skip
    named = build_host_names(everywhere, "here", ("mine.example",), has_keys=True)
    asked = ("mine.example", "192.0.2.1", "b.example")
    assert [named.knows(one, "192.0.2.1") for one in asked] == [True, True, False]


@pytest.mark.parametrize(
    ("headers", "is_foreign"),
    [
        ({}, False),
        ({"origin": "http://h:1"}, False),
        ({"origin": "https://H:1"}, False),
        ({"origin": "http://h"}, True),
        ({"origin": "http://other:1"}, True),
        ({"origin": "null"}, True),
        ({"origin": ""}, True),
        ({"origin": "ftp://h:1"}, True),
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "same-site"}, True),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-origin", "origin": "http://other:1"}, True),
        ({"sec-fetch-site": "cross-site", "origin": "http://h:1"}, True),
    ],
)
def test_browser_can_change_state_only_from_its_own_page(
    headers: dict[str, str], *, is_foreign: bool
) -> None:
    for method in METHODS:
        is_safe = method in ("GET", "HEAD", "OPTIONS")
        found = is_cross_site(method, {"host": "h:1", **headers})
        assert found is (is_foreign and not is_safe)


def test_a_page_of_another_site_is_refused_also_with_a_key() -> None:
    with serving(keys=KEYS) as found:
        sent = request("POST /deploy", "X-API-Key: all", "Origin: http://other.example")
        reply = found.ask(sent)
    assert (reply.status, reply.code) == (403, "request/cross-site")


def test_client_is_rate_limited_across_connections() -> None:
    with serving(NetworkOptions(per_minute=3)) as found:
        replies = [found.ask(request()) for _ in range(4)]
        assert [one.status for one in replies] == [200, 200, 200, 429]
        assert [one.headers["ratelimit-remaining"] for one in replies] == ["2", "1", "0", "0"]
        assert replies[-1].code == "request/too-often"
        assert 58 <= int(replies[-1].headers["retry-after"]) <= 60
        assert found.ask(request("GET /healthz")).status == 200


def test_keyless_requests_are_rate_limited_unless_exempt() -> None:
    with serving(NetworkOptions(per_minute=2), keys=KEYS) as found:
        assert [found.ask(request("GET /page")).status for _ in range(3)] == [200, 200, 429]
        assert found.ask(request("GET /healthz")).status == 200


def test_a_thousand_forged_addresses_are_one_client() -> None:
    with serving(NetworkOptions(per_minute=3)) as found:
        ask = [request("GET /readyz", f"X-Forwarded-For: 10.0.0.{one}") for one in range(5)]
        assert [found.ask(one).status for one in ask] == [200, 200, 200, 429, 429]


def test_behind_a_trusted_proxy_each_address_is_a_client() -> None:
    door = NetworkOptions(per_minute=1, proxies=(ip_network("127.0.0.0/8"),))
    with serving(door) as found:
        ask = [request("GET /readyz", f"X-Forwarded-For: 10.0.0.{one % 2}") for one in range(3)]
        assert [found.ask(one).status for one in ask] == [200, 200, 429]
        assert found.log[0]["client"] == "10.0.0.0"


def test_a_refused_key_counts_for_nothing() -> None:
    with serving(NetworkOptions(per_minute=1), keys=KEYS) as found:
        assert [found.ask(request()).status for _ in range(3)] == [401, 401, 401]
        assert found.ask(request("GET /readyz", "X-API-Key: all")).status == 200


def test_unknown_route_requires_the_right_of_its_method() -> None:
    table = ApiRouteTable(ROUTES)
    assert table.match("GET", "/runs/7").name == "run"
    assert table.match("HEAD", "/readyz").name == "ready"
    assert table.match("GET", "/runs/7/8").name == UNKNOWN
    assert table.match("GET", "/deploy").right is Right.LOOK
    assert table.match("BREW", "/healthz").right is Right.CHANGE
