"""The server of edge1 takes what the real one takes, and nothing else."""

import json
from typing import Any

import pytest

from tests.support.servers.edge1.client import Edge1Server, Met

pytestmark = pytest.mark.slow

_SAYING = 'export default { async fetch() { return new Response("WORD"); } };'
_EDGE = "a-line-between-the-parts-of-a-form"
_GOOD = {"main_module": "main.mjs", "compatibility_date": "2026-04-01"}


def form(metadata: Any, **modules: tuple[str, str]) -> tuple[str, bytes]:
    """`main="…"` is a module `main.mjs`."""
    parts = [f'Content-Disposition: form-data; name="metadata"\r\n\r\n{json.dumps(metadata)}']
    for name, (kind, text) in modules.items():
        head = f'Content-Disposition: form-data; name="{name}.mjs"; filename="{name}.mjs"'
        parts.append(f"{head}\r\nContent-Type: {kind}\r\n\r\n{text}")
    content = "".join(f"--{_EDGE}\r\n{part}\r\n" for part in parts) + f"--{_EDGE}--\r\n"
    return f"multipart/form-data; boundary={_EDGE}", content.encode()


def put(
    edge1: Edge1Server, metadata: Any, method: str = "PUT", rest: str = "", word: str = "one"
) -> Met:
    module = ("application/javascript+module", _SAYING.replace("WORD", word))
    kind, content = form(metadata, main=module)
    return called(edge1, method, f"/scripts/hello{rest}", content, kind)


def called(
    edge1: Edge1Server, method: str, rest: str, content: bytes = b"", kind: str = "application/json"
) -> Met:
    headers = {"Authorization": f"Bearer {edge1.token}", "Content-Type": kind}
    url = f"{edge1.endpoint}/client/v4/accounts/{edge1.account}/workers{rest}"
    return edge1.http(method, url, content or None, headers)


def code(answer: Met) -> int:
    (error,) = answer.json["errors"]
    return int(error["code"])


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({**_GOOD, "main_module": "other.mjs"}, "No such module"),
        ({"main_module": "main.mjs"}, "compatibility_date"),
        ({**_GOOD, "compatibility_dat": "2026-04-01"}, "unknown member"),
        ({**_GOOD, "bindings": [{"type": "plain_text", "name": "A"}]}, "lacks the member text"),
        ({**_GOOD, "bindings": [{"type": "plain_text", "name": "A", "text": "x" * 5121}]}, "5 KB"),
        ({**_GOOD, "bindings": [{"type": "service", "name": "A", "service": "no"}]}, "not found"),
        ({**_GOOD, "annotations": {"workers/tag": "x" * 101}}, "100 bytes"),
        ("no object", "not an object"),
        ({**_GOOD, "bindings": [{"type": "kv_namespace", "name": "A", "id": "f0"}]}, "member id"),
        ({**_GOOD, "bindings": [{"type": "queue", "name": "A", "queue": "q"}]}, "member queue"),
        ({**_GOOD, "bindings": [{"type": "ratelimit", "name": "A"}]}, "lacks the member"),
        ({**_GOOD, "bindings": [{"type": "new", "name": "A"}]}, "unknown type"),
    ],
)
def test_a_form_that_does_not_fit_is_refused(edge1: Edge1Server, metadata: Any, words: str) -> None:
    answer = put(edge1, metadata)
    assert answer.status == 400, answer.text
    assert words in answer.json["errors"][0]["message"]
    assert edge1.left() == {}


def test_worker_is_reachable_after_its_subdomain_is_enabled(edge1: Edge1Server) -> None:
    assert put(edge1, _GOOD).status == 200
    url = f"{edge1.endpoint}/met/{edge1.account}/hello/"
    assert edge1.http("GET", url).status == 404
    called(edge1, "POST", "/scripts/hello/subdomain", b'{"enabled": true}')
    assert edge1.http("GET", url).text == "one"


def test_a_deployment_of_two_versions_is_shared_out(edge1: Edge1Server) -> None:
    first = put(edge1, _GOOD).json["result"]["deployment_id"]
    second = put(edge1, _GOOD, "POST", "/versions", word="two").json["result"]["id"]
    called(edge1, "POST", "/scripts/hello/subdomain", b'{"enabled": true}')
    shares = [{"version_id": first, "percentage": 75}, {"version_id": second, "percentage": 25}]
    document = {"strategy": "percentage", "versions": shares}
    made = called(edge1, "POST", "/scripts/hello/deployments", json.dumps(document).encode())
    assert made.status == 200
    url = f"{edge1.endpoint}/met/{edge1.account}/hello/"
    assert [edge1.http("GET", url).text for _ in range(8)].count("two") == 2
    document = {"strategy": "percentage", "versions": shares[:1]}
    half = called(edge1, "POST", "/scripts/hello/deployments", json.dumps(document).encode())
    assert half.status == 400


def test_unimplemented_path_returns_404(edge1: Edge1Server) -> None:
    answer = called(edge1, "GET", "/durable_objects/namespaces")
    assert (answer.status, code(answer)) == (404, 7003)


def test_another_accounts_token_is_refused(edge1: Edge1Server) -> None:
    other = Edge1Server(edge1.endpoint, account=edge1.account)
    url = f"{edge1.endpoint}/client/v4/accounts/{edge1.account}/workers/scripts"
    answer = other.http("GET", url, headers={"Authorization": "Bearer tok-accffff"})
    assert (answer.status, code(answer)) == (403, 10000)
    assert code(other.http("GET", url)) == 9106


@pytest.mark.parametrize("cron", ["* * * *", "0 9 * * 0", "0 9 ? * MON", "rate(1 hour)"])
def test_invalid_schedule_is_refused(edge1: Edge1Server, cron: str) -> None:
    put(edge1, _GOOD)
    answer = called(edge1, "PUT", "/scripts/hello/schedules", json.dumps([{"cron": cron}]).encode())
    assert (answer.status, code(answer)) == (400, 10100)
