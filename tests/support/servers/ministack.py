"""ministack: AWS as others made it, in a process of its own and an environment of its own.

Unlike moto it keeps to the policies of roles, runs functions and creates stacks.
"""

import contextlib
import os
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path

from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN
from tests.support.servers.process import Command, free_port, listens, running

VERSION = "1.5.33"
ACCOUNT = "123456789012"
_FOLDER = TOOLCHAIN.parent / f"ministack-{VERSION}"
_DONE = _FOLDER / "installed"


def install_ministack() -> None:
    if _DONE.is_file():
        return
    venv.create(_FOLDER, clear=True, with_pip=True)
    pip = [str(_FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, f"ministack=={VERSION}"], check=True, env=dict(ENVIRONMENT))
    _DONE.touch()


@contextlib.contextmanager
def ministack(folder: Path, **settings: str) -> Iterator[str]:
    """The address of an empty account. With `AUTH` its own key is the number of the account."""
    port = free_port()
    env = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "PERSIST_STATE": "0",
        "PATH": os.defpath,
        "HOME": str(folder),
        **settings,
    }
    argv = [str(_FOLDER / "bin" / "ministack")]
    with running(Command(argv, folder, env), lambda: listens(port)):
        yield f"http://127.0.0.1:{port}"
