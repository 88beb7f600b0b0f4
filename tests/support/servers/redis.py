"""A Redis server of our own: nothing on disk, a free port of the loopback address; with TLS too."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import redis

from fabric.system.files.disk import lock_file
from tests.support.bundler_cache import TOOLCHAIN
from tests.support.servers.process import Command, free_port, running

_SCRIPT = Path(__file__).parents[3] / "scripts" / "test-tools.sh"


@dataclass(frozen=True)
class RedisServer:
    """`files` are the key and the certificate that clients of a TLS server show."""

    port: int
    folder: Path
    has_tls: bool = False

    @property
    def url(self) -> str:
        if not self.has_tls:
            return f"redis://127.0.0.1:{self.port}/0"
        names = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
        files = zip(names, ("ca.crt", "own.crt", "own.key"), strict=True)
        said = "&".join(f"{name}={self.folder / file}" for name, file in files)
        return f"rediss://127.0.0.1:{self.port}/0?{said}"

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True)

    def names(self) -> set[str]:
        with contextlib.closing(self.client()) as client:
            return {str(one) for one in client.keys("*")}


@contextlib.contextmanager
def redis_server(folder: Path, port: int = 0, *, has_tls: bool = False) -> Iterator[RedisServer]:
    server = RedisServer(port or free_port(), folder, has_tls)
    argv = [_program(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    argv += ["--dir", str(folder)]
    if has_tls:
        _make_certificates(folder)
        argv += ["--port", "0", "--tls-port", str(server.port), "--tls-auth-clients", "yes"]
        for option, file in (("cert", "own.crt"), ("key", "own.key"), ("ca-cert", "ca.crt")):
            argv += [f"--tls-{option}-file", str(folder / file)]
    else:
        argv += ["--port", str(server.port)]
    with running(Command(argv, folder), lambda: _answers(server)):
        yield server


def _program() -> str:
    with lock_file(TOOLCHAIN.parent / "redis.lock"):
        if shutil.which("redis-server") is None:
            subprocess.run(["sh", _SCRIPT], check=True)
    found = shutil.which("redis-server")
    assert found, "redis-server was installed, and is not on PATH"
    return found


def _answers(server: RedisServer) -> bool:
    try:
        with contextlib.closing(server.client()) as client:
            return bool(client.ping())
    except redis.exceptions.RedisError:
        return False


def _make_certificates(folder: Path) -> None:
    for command in (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -subj /CN=test-ca -days 2",
        "req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /CN=localhost",
        "x509 -req -in own.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out own.crt -days 2"
        " -extfile names",
    ):
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
