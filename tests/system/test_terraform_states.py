"""Terraform states are read from files, web servers and Google Cloud Storage."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.system.terraform_states import TerraformStates
from tests.support.servers.gcs import Gcs, serving

_STATE = {"version": 4, "outputs": {"table": {"value": "orders"}}}
_PASSWORD = "right-password"  # noqa: S105
_LOGIN = b64encode(f"robot:{_PASSWORD}".encode()).decode()


class _Guarded(BaseHTTPRequestHandler):
    """`/open` is for all, `/mine` for the right login, and `/lost` does not exist."""

    logins: ClassVar[list[str]] = []

    def do_GET(self) -> None:  # noqa: N802
        login = self.headers.get("authorization", "")
        self.logins.append(login)
        is_allowed = self.path != "/mine" or login == f"Basic {_LOGIN}"
        status = 404 if self.path == "/lost" else 200 if is_allowed else 401
        content = json.dumps(_STATE).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def _serving() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Guarded) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def web() -> Iterator[str]:
    _Guarded.logins.clear()
    with _serving() as address:
        yield address


def states(folder: Path, env: Mapping[str, str] | None = None) -> TerraformStates:
    return TerraformStates(Secret(env or {}), folder, lambda _bucket, _key: b"")


def test_a_state_of_a_web_server_is_read(web: str, tmp_path: Path) -> None:
    assert states(tmp_path).read(f"{web}/open") == _STATE
    assert states(tmp_path).read(f"{web}/lost") == {}


def test_credentials_go_only_to_the_server_that_the_shell_names(web: str, tmp_path: Path) -> None:
    login = {"FABRIC_TF_HTTP_USERNAME": "robot", "FABRIC_TF_HTTP_PASSWORD": _PASSWORD}
    own = {**login, "FABRIC_TF_HTTP_ADDRESS": f"{web}/states"}
    assert states(tmp_path, own).read(f"{web}/mine") == _STATE
    for env in (login, {**login, "FABRIC_TF_HTTP_ADDRESS": "http://127.0.0.1:1"}):
        _Guarded.logins.clear()
        with pytest.raises(FabricError) as raised:
            states(tmp_path, env).read(f"{web}/mine")
        assert raised.value.first.code == "credentials/refused"
        assert set(_Guarded.logins) == {""}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("http://states.example/one", "without encryption"),
        ("https://robot:word@states.example/one", "contains a password"),
        ("ftp://states.example/one", "unsupported address `ftp://`"),
    ],
)
def test_unsafe_addresses_are_refused(source: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FabricError, match=said) as raised:
        states(tmp_path).read(source)
    assert raised.value.first.code == "config/unresolved-reference"
    assert "word@" not in raised.value.first.message


def test_a_state_of_google_cloud_storage_is_read(tmp_path: Path) -> None:
    with serving(Gcs()) as server:
        token = {"OBJSTORE2_ENDPOINT_URL": server.endpoint}
        with pytest.raises(FabricError) as raised:
            states(tmp_path, token).read("gs://state/infra/one.tfstate")
        assert raised.value.first.code == "credentials/missing"
        token["OBJSTORE2_ACCESS_TOKEN"] = server.token
        assert states(tmp_path, token).read("gs://state/infra/one.tfstate") == {}
        server.put("infra/one.tfstate", json.dumps(_STATE).encode())
        assert states(tmp_path, token).read("gs://state/infra/one.tfstate") == _STATE


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="cannot read the Terraform state") as raised:
        states(tmp_path).read("http://127.0.0.1:1/one")
    assert raised.value.first.code == "provider/unreachable"
