"""fabric's daemon as a process of its own, over a small project. Knows nothing of bounds."""

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.places import REPO, WORK

_CALL = "import sys; from fabric.__main__ import daemon_main; sys.exit(daemon_main())"
SMALL = """service: small
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: api, entry: src/api.py, triggers: [{type: http, path: /api}]}
  - {name: jobs, entry: src/jobs.py, triggers: [{type: cron, schedule: "rate(5 minutes)"}]}
"""
_HANDLER = """def handler(event, context):
    return {{"statusCode": 200, "body": "{word}"}}
"""


@dataclass(frozen=True, slots=True)
class Daemon:
    folder: Path
    pid: int
    port: int

    @property
    def memory_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


class Caller:
    """A client that keeps its connection; an answer that is no good one ends the benchmark."""

    def __init__(self, port: int) -> None:
        self._client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def post(self, path: str, body: str = "") -> Mapping[str, object]:
        return self._asked("POST", path, body)

    def get(self, path: str) -> Mapping[str, object]:
        return self._asked("GET", path)

    def close(self) -> None:
        self._client.close()

    def _asked(self, method: str, path: str, body: str = "") -> Mapping[str, object]:
        self._client.request(method, path, body)
        answer = self._client.getresponse()
        said = answer.read()
        if answer.status not in (200, 202):
            raise SystemExit(f"{method} {path}: {answer.status} {said.decode()[:2000]}")
        found: Mapping[str, object] = json.loads(said)
        return found


def fabricd(folder: Path, *words: str) -> dict[str, object]:
    line = [sys.executable, "-c", _CALL, *words, "--json"]
    env = {"PYTHONPATH": str(REPO), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout)["result"])


def empty_folder() -> Path:
    folder = WORK / "daemon"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def small_project(folder: Path, config: str = SMALL) -> Path:
    (folder / "src").mkdir()
    (folder / "fabric.yml").write_text(config)
    for name in ("api", "jobs"):
        edit(folder, name, "first")
    return folder


def edit(folder: Path, name: str, word: str) -> None:
    (folder / "src" / f"{name}.py").write_text(_HANDLER.format(word=word))


@contextlib.contextmanager
def daemon_in(folder: Path, *words: str) -> Iterator[Daemon]:
    started = fabricd(folder, "start", "--address", "127.0.0.1", "--port", "0", *words)
    try:
        yield Daemon(folder, int(str(started["pid"])), int(str(started["port"])))
    finally:
        fabricd(folder, "stop")


@contextlib.contextmanager
def calling(daemon: Daemon) -> Iterator[Caller]:
    with contextlib.closing(Caller(daemon.port)) as caller:
        yield caller
