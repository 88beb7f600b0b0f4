"""Servers of handlers as processes: started, asked, looked at, ended. Knows nothing of bounds."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.places import REPO, WORK, made, program, run
from benchmarks.project import environment

# Later versions of serverless want an account before they start.
_OFFLINE = ("serverless@3.40.0", "serverless-offline@13.9.0")
_OFFLINE_CONFIG = """service: peer
frameworkVersion: "3"
provider: {name: aws, runtime: nodejs20.x}
plugins: [serverless-offline]
functions:
  hello: {handler: hello.handler, events: [{httpApi: {method: GET, path: /fn-0}}]}
"""
_PATIENCE = 60.0


class ServerSide(Struct, frozen=True):
    """How a server is started, and the words behind which it says its port."""

    name: str
    argv: tuple[str, ...]
    cwd: Path
    says: str
    env: Mapping[str, str] = {}


class Load(Struct, frozen=True, rename="camel"):
    """What clients saw, in milliseconds."""

    median: float
    p99: float
    per_second: float
    failed: int


@dataclass(frozen=True, slots=True)
class RunningServer:
    pid: int
    port: int

    def get(self, path: str) -> bytes:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(client):
            client.request("GET", path)
            return client.getresponse().read()

    def json(self, path: str) -> Mapping[str, int]:
        found: Mapping[str, int] = json.loads(self.get(path))
        return found

    def loaded(self, path: str, clients: int, count: int) -> Load:
        script = REPO / "benchmarks" / "load.mjs"
        words = ("node", script, self.port, path, clients, count)
        argv = [str(one) for one in words]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        load = msgspec.json.decode(done.stdout, type=Load)
        if load.failed:
            raise SystemExit(f"{load.failed} of {count} requests failed")
        return load

    @property
    def memory_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


@contextlib.contextmanager
def running(side: ServerSide) -> Iterator[RunningServer]:
    log = WORK / f"server-{side.name.replace(' ', '-')}.log"
    with log.open("w") as said:
        child = subprocess.Popen(
            side.argv,
            cwd=side.cwd,
            env={**os.environ, **side.env},
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            yield RunningServer(child.pid, _port(side, child, log))
        finally:
            child.terminate()
            child.wait(_PATIENCE)
            if child.stdin:
                child.stdin.close()


def _port(side: ServerSide, child: "subprocess.Popen[bytes]", log: Path) -> int:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and child.poll() is None:
        if found := re.search(rf"{side.says}(\d+)", log.read_text(errors="replace")):
            return int(found[1])
        time.sleep(0.02)
    raise SystemExit(f"{side.name} does not start:\n{log.read_text(errors='replace')[-2000:]}")


def fabric_server(root: Path, *words: str) -> ServerSide:
    argv = (program("fabric"), "invoke", "local", "--serve", "--port", "0", *words)
    return ServerSide("fabric", argv, root, r"Serving at http://127\.0\.0\.1:", environment())


def bare_server(module: Path) -> ServerSide:
    argv = ("node", str(REPO / "benchmarks" / "bare.mjs"), str(module))
    return ServerSide("bare node", argv, WORK, "port ")


def offline_place() -> Path:
    def make(place: Path) -> None:
        (place / "package.json").write_text('{"private": true}')
        words = ("--no-audit", "--no-fund", "--ignore-scripts")
        run("npm", "install", *words, *_OFFLINE, cwd=place)

    return made(WORK / "npm-offline", make, " ".join(_OFFLINE))


def offline_server(code: str, shared: str) -> ServerSide:
    """serverless-offline with the same handler; it says its ports with words in between."""
    place = offline_place()
    (place / "serverless.yml").write_text(_OFFLINE_CONFIG)
    (place / "hello.mjs").write_text(code)
    (place / "shared").mkdir(exist_ok=True)
    (place / "shared" / "reply.mjs").write_text(shared)
    ports = ("--httpPort", str(_free()), "--lambdaPort", str(_free()), "--noPrependStageInUrl")
    argv = (str(place / "node_modules/.bin/serverless"), "offline", *ports)
    quiet = {"SLS_TELEMETRY_DISABLED": "1", "SLS_NOTIFICATIONS_MODE": "off"}
    return ServerSide("serverless-offline", argv, place, "Server ready: http://localhost:", quiet)


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def in_turn(
    servers: Sequence[RunningServer], rounds: int, path: str, clients: int, count: int
) -> list[list[Load]]:
    """A B A B …, after one round that does not count."""
    kept: list[list[Load]] = [[] for _ in servers]
    for number in range(-1, rounds):
        for server, loads in zip(servers, kept, strict=True):
            load = server.loaded(path, clients, count)
            if number >= 0:
                loads.append(load)
    return kept
