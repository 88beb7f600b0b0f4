"""A package index on a port that records its requests: for settings of pip."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from msgspec import Struct


class PackageIndex(Struct, frozen=True):
    """The settings for an index, and the paths of all requests."""

    settings: dict[str, str]
    requests: list[str]


@contextmanager
def serve_index(folder: Path) -> Iterator[PackageIndex]:
    """Serve the packages of a directory."""
    requests: list[str] = []

    class Recording(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802
            requests.append(self.path)
            super().do_GET()

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Recording, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        settings = {
            "PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_RETRIES": "0",
            "PIP_NO_CACHE_DIR": "1",
        }
        yield PackageIndex(settings, requests)
        server.shutdown()
        thread.join()
