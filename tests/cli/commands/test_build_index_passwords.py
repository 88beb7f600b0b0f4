"""The password of a package index is for pip alone: no file and no message has it."""

import functools
import os
import threading
from collections.abc import Iterator, Mapping
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fabric.runtimes.packages.uv import find_uv
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.in_process import project
from tests.support.project import PYTHON, PYTHON_SOURCES, Project
from tests.support.wheels import write_wheel

CANARY = "canary-3f9a61c2"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        """Nothing: it would stand between the tests' own lines."""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """The address of an index with one package, with a password in it."""
    write_wheel(tmp_path / "index", "left")
    handler = functools.partial(Quiet, directory=str(tmp_path / "index"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://user:{CANARY}@127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def asking(tmp_path: Path, requirements: str) -> Project:
    return project(tmp_path / "shop", PYTHON, {**PYTHON_SOURCES, "requirements.txt": requirements})


def plain(tmp_path: Path) -> Mapping[str, str]:
    """pip's settings are those of the test alone; temporary files stay where it looks."""
    (tmp_path / "tmp").mkdir(exist_ok=True)
    none = {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}
    return {**none, "TMPDIR": str(tmp_path / "tmp")}


def files_with_it(folder: Path, besides: str) -> list[str]:
    there = (path for path in folder.rglob("*") if path.is_file() and path.name != besides)
    return [str(path) for path in there if CANARY.encode() in path.read_bytes()]


@pytest.mark.sampled
@pytest.mark.parametrize("where", ["requirements.txt", "environment", "pip.conf"])
@pytest.mark.parametrize("asked", ["left==1.0", "left", "nothing-there==1.0", "nothing-there"])
def test_it_is_in_no_file_and_in_no_message(
    where: str, asked: str, index: str, tmp_path: Path
) -> None:
    env = dict(plain(tmp_path))
    head = f"--index-url {index}\n" if where == "requirements.txt" else ""
    if where == "environment":
        env["PIP_INDEX_URL"] = index
    if where == "pip.conf":
        config = tmp_path / "pip.conf"
        config.write_text(f"[global]\nindex-url = {index}\n")
        env["PIP_CONFIG_FILE"] = str(config)
    made = asking(tmp_path, f"{head}{asked}\n")
    done = [
        made.fabric("package", env=env),
        made.fabric("package", "--json", env=env),
        made.fabric("plan", "--for", "package", "--json", env=env),
    ]
    good = asked.startswith("left")
    assert [one.code for one in done[:2]] == ([0, 0] if good else [done[0].code, done[0].code])
    assert (done[0].code == 0) is good, done[0].err
    assert not any(CANARY in one.out + one.err for one in done)
    assert files_with_it(tmp_path, where) == []


@pytest.mark.parametrize("where", ["requirements.txt", "environment", "pip.conf"])
@pytest.mark.parametrize("asked", ["left", "nothing-there==1.0"])
def test_uv_gets_it_without_arguments_and_files(
    where: str, asked: str, index: str, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    program = tmp_path / "uv"
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {find_uv(ENVIRONMENT)} "$@"\n')
    program.chmod(0o755)
    env = {name: text for name, text in plain(tmp_path).items() if name != "PIP_NO_CACHE_DIR"}
    env |= {"UV_CACHE_DIR": str(tmp_path / "cache"), "PATH": f"{tmp_path}:{ENVIRONMENT['PATH']}"}
    head = f"--index-url {index}\n" if where == "requirements.txt" else ""
    if where == "environment":
        env["PIP_INDEX_URL"] = index
    if where == "pip.conf":
        (tmp_path / where).write_text(f"[global]\nindex-url = {index}\n")
        env["PIP_CONFIG_FILE"] = str(tmp_path / where)
    text = {**PYTHON_SOURCES, "requirements.txt": f"{head}{asked}\n"}
    made = project(tmp_path / "shop", PYTHON.replace("python3.11", "python3.12"), text)
    done = made.fabric("package", "--json", env=env)
    assert (done.code == 0) is (asked == "left"), done.err + done.out
    assert "pip" in calls.read_text()
    assert CANARY not in done.out + done.err
    assert files_with_it(tmp_path, where) == []


def test_a_lock_is_the_same_whatever_the_password(index: str, tmp_path: Path) -> None:
    locks = []
    for password in (CANARY, "another"):
        made = asking(tmp_path / password, f"--index-url {index.replace(CANARY, password)}\nleft\n")
        assert made.fabric("package", env=plain(tmp_path)).code == 0
        locks.append((made.root / "requirements.lock").read_text())
    assert locks[0] == locks[1]
