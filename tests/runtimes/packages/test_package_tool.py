"""What failures of pip and of uv mean, with an index of a few files."""

import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from fabric.model.builds.python_target import PythonTarget
from fabric.model.hashing import hash_bytes
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.runtimes.packages.package_tool import PackageTool
from fabric.runtimes.packages.pip import find_missing_file
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.in_process import project
from tests.support.project import PYTHON_SOURCES
from tests.support.runtimes_project import write
from tests.support.wheels import environment, write_wheel

# Each starts pip, some a few times.
pytestmark = pytest.mark.slow
OFFLINE = {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "1"}
TARGET = PythonTarget("3.12", "x86_64")
NOWHERE = {**OFFLINE, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}


TOOLS = pytest.mark.parametrize("tool", ["pip", "uv"])


def refused(folder: Path, requirement: str, tool: str) -> Problem:
    """What is said of a requirement, where `plain` 1.0 (its sources alone) is all there is."""
    index = write(
        folder / "index",
        {"plain/index.html": '<a href="plain-1.0.tar.gz">x</a>', "plain/plain-1.0.tar.gz": ""},
    )
    env = {**ENVIRONMENT, **OFFLINE, "PIP_INDEX_URL": index.as_uri(), "FABRIC_PIP": tool}
    target = PythonTarget("3.12", "arm64")
    with pytest.raises(FabricError) as caught:
        PackageTool(env).download(f"{requirement}\n", target, folder, locked=False)
    return caught.value.first


@TOOLS
@pytest.mark.parametrize(
    ("requirement", "code", "words"),
    [
        ("nopackage-zzz==1", "vendor/unknown-package", "`nopackage-zzz`"),
        ("plain==99", "vendor/unknown-version", "`plain` has no version 99"),
        (
            "plain==1.0",
            "vendor/no-wheel",
            "`plain==1.0` has no wheel for Python 3.12 on Linux (arm64)",
        ),
        ("plain", "vendor/no-wheel", "` has no wheel for Python"),
    ],
)
def test_unavailable_requirement_is_reported_with_the_reason(
    requirement: str, code: str, words: str, tool: str, tmp_path: Path
) -> None:
    found = refused(tmp_path, requirement, tool)
    assert found.code == code
    assert words in found.message
    assert ("wheel" in found.message) == (code == "vendor/no-wheel")
    assert found.hint


class _Refusing(BaseHTTPRequestHandler):
    """An index that accepts no login."""

    def do_GET(self) -> None:  # noqa: N802
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def refusing() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@TOOLS
@pytest.mark.parametrize("status", ["401", "403"])
def test_an_index_that_does_not_accept_the_login_is_named(
    status: str, tool: str, refusing: str, tmp_path: Path
) -> None:
    url = f"http://user:hidden@{refusing}/{status}/simple"
    env = {**ENVIRONMENT, **OFFLINE, "PIP_INDEX_URL": url, "FABRIC_PIP": tool}
    with pytest.raises(FabricError) as caught:
        PackageTool(env).download("kit\n", TARGET, tmp_path, locked=False)
    found = caught.value.first
    assert found.code == "vendor/index-login"
    assert f"`http://{refusing}/{status}/simple" in found.message
    assert f"({status})" in found.message
    assert "hidden" not in repr(found)


@TOOLS
def test_foreign_platform_wheels_are_reported_as_no_wheel(tool: str, tmp_path: Path) -> None:
    write_wheel(tmp_path / "index", "foreign", tag="cp39-cp39-win_amd64")
    write_wheel(tmp_path / "index", "needs", ["foreign"])
    env = {**environment(tmp_path / "index"), "FABRIC_PIP": tool}
    for requirement in ("foreign==1.0", "needs==1.0"):
        with pytest.raises(FabricError) as caught:
            PackageTool(env).download(requirement, TARGET, tmp_path, locked=False)
        assert caught.value.first.code == "vendor/no-wheel"
        assert "`foreign" in caught.value.first.message


@TOOLS
@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (f"one==1.0 --hash=sha256:{'0' * 64}\n", "vendor/hash-mismatch", "`one==1.0`"),
        (
            f"one==1.0 --hash=sha256:{'0' * 64} --hash=sha256:{'1' * 64}\n",
            "vendor/hash-mismatch",
            f"expected sha256 {'0' * 64}",
        ),
    ],
)
def test_hash_mismatch_is_reported(
    text: str, code: str, words: str, tool: str, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write_wheel(tmp_path / "index", name)
    made = project(tmp_path, "", {**PYTHON_SOURCES, "requirements.txt": text})
    env = {k: v for k, v in environment(tmp_path / "index").items() if k.startswith("PIP_")}
    env["FABRIC_PIP"] = tool
    done = made.json("package", env=env)
    assert done.code == ExitCode.FAILED
    assert done.error["code"] == code
    assert words in done.error["message"]
    assert done.error["hint"]


@TOOLS
def test_requirement_without_a_hash_among_hashed_ones_is_reported(
    tool: str, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write_wheel(tmp_path / "index", name)
    (wheel,) = (tmp_path / "index/one").glob("*.whl")
    text = f"one==1.0 --hash=sha256:{hash_bytes(wheel.read_bytes())}\ntwo==1.0\n"
    with pytest.raises(FabricError) as caught:
        PackageTool({**environment(tmp_path / "index"), "FABRIC_PIP": tool}).download(
            text, TARGET, tmp_path, locked=True
        )
    assert caught.value.first.code == "vendor/hash-missing"
    assert "`two==1.0`" in caught.value.first.message


@TOOLS
def test_unreachable_index_is_reported(tool: str, tmp_path: Path) -> None:
    made = project(tmp_path, "", {**PYTHON_SOURCES, "requirements.txt": "plain==1\n"})
    done = made.json("package", env={**NOWHERE, "FABRIC_PIP": tool})
    assert done.error["code"] == "backend/unreachable"
    assert done.code == ExitCode.UNREACHABLE


@pytest.mark.parametrize(
    "said",
    [
        "  ERROR: HTTP error 404 while getting https://files.example/x.whl\n",
        "cause: HTTP status client error (404 Not Found) for url (https://files.example/x.whl)\n",
    ],
)
def test_a_url_that_does_not_exist_is_not_an_unreachable_index(said: str) -> None:
    found = find_missing_file(said)
    assert found
    assert found.code == "vendor/url-missing"
    assert "`https://files.example/x.whl`" in found.message


def test_other_failures_name_no_missing_url() -> None:
    assert find_missing_file("client error (401 Unauthorized) for url (https://a/x)") is None
