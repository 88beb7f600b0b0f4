"""Moto's server: objstore1 and the lock table of cloud1, in memory.

Moto looks at a condition and writes in two steps, and its own server answers in many threads: two
writers can both be told that nobody was before them, which the real stores rule out. So the server
is run from here, one request after the other.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from tests.support.project import REPO
from tests.support.servers.process import Command, free_port, listens, running

BUCKET = "fabric-state"
KEYS = {
    "CLOUD1_ACCESS_KEY_ID": "AKIAFABRICTESTS",
    "CLOUD1_SECRET_ACCESS_KEY": "a-secret-of-the-tests",
    "CLOUD1_REGION": "us-east-1",
}


@dataclass(frozen=True)
class Moto:
    endpoint: str


@contextlib.contextmanager
def moto(folder: Path) -> Iterator[Moto]:
    """With one empty bucket."""
    port = free_port()
    argv = [sys.executable, "-m", "tests.support.servers.moto", str(port)]
    server = Moto(f"http://127.0.0.1:{port}")
    with running(Command(argv, folder, {"PYTHONPATH": str(REPO)}), lambda: listens(port)):
        _make_bucket(server)
        yield server


def _make_bucket(server: Moto) -> None:
    client = _client(server, "s3")
    client.create_bucket(Bucket=BUCKET)
    client.close()


def table(server: Moto, name: str) -> None:
    """A table with rows by their `id`."""
    client = _client(server, "dynamodb")
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.close()


def _client(server: Moto, service: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        region_name=KEYS["CLOUD1_REGION"],
        aws_access_key_id=KEYS["CLOUD1_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["CLOUD1_SECRET_ACCESS_KEY"],
    )


Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def one_at_a_time(application: Application) -> Application:
    turn = threading.Lock()

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        with turn:
            return list(application(environ, start))

    return answer


def serve(port: int) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    application = DomainDispatcherApplication(create_backend_app)
    run_simple("127.0.0.1", port, one_at_a_time(application), threaded=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
