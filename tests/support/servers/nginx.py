"""nginx with plain PUT and GET, as its users set it up; bodies may be as large as a pack."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fabric.system.files.disk import lock_file
from tests.support.bundler_cache import TOOLCHAIN
from tests.support.servers.process import Command, free_port, listens, running

_SCRIPT = Path(__file__).parents[3] / "scripts" / "test-tools.sh"
TOKEN = "token-for-nginx"  # noqa: S105
_SETTINGS = """\
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/unused-1;
    fastcgi_temp_path {folder}/unused-2;
    uwsgi_temp_path {folder}/unused-3;
    scgi_temp_path {folder}/unused-4;
    client_max_body_size {largest};
    server {{
        listen 127.0.0.1:{port};
        location /cache/ {{
            alias {folder}/store/;
            dav_methods PUT;
            create_full_put_path on;
            dav_access user:rw;
            if ($http_authorization != "Bearer {token}") {{ return 401; }}
        }}
    }}
}}
"""


@dataclass(frozen=True)
class DavServer:
    port: int
    folder: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/cache"

    def objects(self) -> list[Path]:
        return sorted(path for path in (self.folder / "store").rglob("*") if path.is_file())


@contextlib.contextmanager
def dav_server(folder: Path, *, largest: str = "8m") -> Iterator[DavServer]:
    server = DavServer(free_port(), folder)
    (folder / "store").mkdir()
    settings = folder / "nginx.conf"
    settings.write_text(
        _SETTINGS.format(folder=folder, port=server.port, token=TOKEN, largest=largest)
        # A user of its own would not get into the folders of the tests.
        + ("user root;\n" if os.getuid() == 0 else "")
    )
    argv = [_program(), "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(settings)]
    with running(Command(argv, folder), lambda: listens(server.port)):
        yield server


def _program() -> str:
    found = _found()
    if found is None:
        with lock_file(TOOLCHAIN.parent / "nginx.lock", 600):
            if _found() is None:
                subprocess.run(["sh", str(_SCRIPT)], check=True)
        found = _found()
    assert found is not None
    return found


def _found() -> str | None:
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
