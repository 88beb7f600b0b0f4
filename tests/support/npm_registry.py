"""A registry of generated packages on a local port, in the protocol of npm, pnpm, Yarn and Bun."""

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias
from urllib.parse import unquote

# Files of each version, by package.
Packages: TypeAlias = Mapping[str, Mapping[str, Mapping[str, str]]]


def package(name: str, version: str, needs: Mapping[str, str], mark: str = "") -> dict[str, str]:
    """A package whose value names itself and all of its dependencies."""
    parts = "".join(f' + require("{one}")' for one in needs)
    manifest = {"name": name, "version": version, "dependencies": needs}
    return {
        "package.json": json.dumps(manifest),
        "index.js": f'module.exports = "{name}@{version}{mark} "{parts};\n',
    }


class Registry:
    """What is published can change while the registry is served."""

    def __init__(self, packages: Packages) -> None:
        self.url = ""
        self.packages = {name: dict(versions) for name, versions in packages.items()}

    def describe(self, name: str) -> bytes:
        versions = self.packages[name]
        rows = {version: self._describe_version(name, version) for version in versions}
        latest = max(versions, key=lambda one: [int(part) for part in one.split(".")])
        # Some tools refuse versions that were published a short time ago.
        times = dict.fromkeys(versions, "2020-01-01T00:00:00.000Z")
        tags = {"latest": latest}
        document = {"name": name, "dist-tags": tags, "versions": rows, "time": times}
        return json.dumps(document).encode()

    def _describe_version(self, name: str, version: str) -> dict[str, object]:
        content = archive(self.packages[name][version])
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        dist = {
            "tarball": f"{self.url}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz",
            "integrity": f"sha512-{digest}",
            "shasum": hashlib.sha1(content, usedforsecurity=False).hexdigest(),
        }
        return {**json.loads(self.packages[name][version]["package.json"]), "dist": dist}

    def answer(self, path: str) -> bytes | None:
        name, dash, file = unquote(path).strip("/").partition("/-/")
        if name not in self.packages:
            return None
        if not dash:
            return self.describe(name)
        version = file.removesuffix(".tgz")[len(name.rpartition("/")[2]) + 1 :]
        return archive(self.packages[name][version])


def archive(files: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as tar:
        for name, text in sorted(files.items()):
            row = tarfile.TarInfo(f"package/{name}")
            row.size, row.mode = len(text), 0o644
            tar.addfile(row, io.BytesIO(text.encode()))
    content = made.getvalue()
    return content[:4] + bytes(4) + content[8:]  # without the time


@contextmanager
def serve_registry(packages: Packages) -> Iterator[Registry]:
    registry = Registry(packages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802
            content = registry.answer(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        registry.url = f"http://127.0.0.1:{server.server_port}"
        yield registry
        server.shutdown()
        thread.join()
