"""Moto's server: objstore1 and the lock table of cloud1, in memory."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import boto3

from tests.servers.process import Command, free_port, listens, running

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
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = Moto(f"http://127.0.0.1:{port}")
    with running(Command(argv, folder), lambda: listens(port)):
        _make_bucket(server)
        yield server


def _make_bucket(server: Moto) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=KEYS["CLOUD1_REGION"],
        aws_access_key_id=KEYS["CLOUD1_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["CLOUD1_SECRET_ACCESS_KEY"],
    )
    client.create_bucket(Bucket=BUCKET)
    client.close()
