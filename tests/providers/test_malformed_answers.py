"""Whatever a provider answers with, the user is told what was called: never an internal error."""

import contextlib
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from fabric.model.catalog import find_provider_facts
from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError
from fabric.providers.core.contract import Artifact, FunctionOrder, LiveFunction
from fabric.providers.core.deployer import GuardedDeployer
from fabric.providers.core.provider import Connections
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.registry import REAL_PROVIDERS
from tests.support.orders import HTTP, address, around, open_real, order

# Spoken to by HTTP; the cluster's tool is a program.
OVER_HTTP = tuple(one for one in REAL_PROVIDERS if one != "cluster-orchestrator")
BODIES = {
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "object": b"{}",
    "number": b"NaN",
    "text": b'"text"',
    "page": b"<html><body>Sign in</body></html>",
    "deep": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "nulls": b'{"result": null, "success": null, "id": null, "items": null, "FunctionArn": null}',
    "cut": b'{"result": [{"id": "a"',
    "bytes": bytes(range(256)),
}


class _Answers(BaseHTTPRequestHandler):
    body: ClassVar[bytes] = b""
    status: ClassVar[int] = 200

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(self.body if self.command != "HEAD" else b"")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def packed_order(folder: Path) -> FunctionOrder:
    path = folder / "hello.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("index.mjs", "export const handler = () => 1\n")
    content = path.read_bytes()
    artifact = Artifact(path, hash_bytes(content), len(content), "index.handler", "nodejs20.x")
    return replace(order("hello", HTTP), artifact=artifact)


def surroundings(provider_id: str, url: str) -> dict[str, str]:
    facts = find_provider_facts(provider_id)
    assert facts
    names = {name: "abc123" for group in facts.credentials.required for name in group}
    names |= {f"{facts.prefix}_REGION": "us-east-1", f"{facts.prefix}_API_BASE_URL": url}
    role = "arn:aws:iam::123456789012:role/r"
    return {
        **names,
        "AWS_ENDPOINT_URL": url,
        "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": role,
        "CLOUD2_SERVICE_ACCOUNT_KEY": "",
        "AWS_MAX_ATTEMPTS": "1",
    }


@pytest.mark.sampled
@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("provider_id", OVER_HTTP)
def test_a_malformed_answer_is_a_problem_that_names_the_provider(
    provider_id: str, body: str, status: int, server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    _Answers.body, _Answers.status = BODIES[body], status
    url = f"http://127.0.0.1:{server.server_port}"
    made = around(tmp_path, surroundings(provider_id, url))
    with contextlib.closing(Connections()) as connections:
        deployer = open_real(provider_id, made, "{}", connections)
        assert isinstance(deployer, GuardedDeployer)
        deployer = replace(deployer, waiting=RetryPolicy(most=0))
        where = address(provider_id, region="us-east-1")
        live = LiveFunction("hello", "shop-dev-hello", "abc123")
        calls = (
            lambda: deployer.find(where, "hello"),
            lambda: deployer.deploy(where, [packed_order(tmp_path)]),
            lambda: deployer.release(where, [live], ()),
            lambda: deployer.destroy(where, [live]),
            lambda: deployer.dissolve(where, [live]),
        )
        for call in calls:
            with contextlib.suppress(FabricError):
                call()
