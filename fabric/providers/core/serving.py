"""fabric's server for containers: its files, and the public image and command of each runtime."""

import functools
import re
from pathlib import Path

from msgspec import Struct

from fabric.model.builds.command_runtimes import is_custom_runtime
from fabric.model.hashing import hash_fields

# They are data here: what is in them runs in the container alone.
_RUNTIMES = Path(__file__).parents[2] / "runtimes"
_NODE = re.compile(r"nodejs(?:(18|20|22|24)(?:\.x)?)?")
_PYTHON = re.compile(r"python(3\.1[1-4])?")
_PYTHON_FILES = (
    *("serve.py", "server.py", "service.py", "framework.py"),
    *("program.py", "http_bodies.py", "streamed_response.py"),
)
_SERVING = tuple(f"serving_{one}" for one in ("answers", "cors", "http", "open", "routes"))
SERVER_FOLDER = "/fabric/runtime"
# Answers 200 while requests can be sent.
READY_PATH = "/.fabric/ready"
SERVER_PORT = 8080
# Handlers find what is in their archive, and nothing beside the server.
_PYTHON_START = ("python", "-u", "-P", f"{SERVER_FOLDER}/fabric/runtimes/python/serve.py")
# For programs: a server in Python, and the glibc of Amazon Linux 2023 or a later one.
_PROGRAM_IMAGE = "python:3.12-slim"
# The container has them from us; and `PORT` is where it is called.
SERVER_VARIABLES = frozenset(("FABRIC_SAID", "FABRIC_CODE", "FABRIC_WORK", "FABRIC_EVENT", "PORT"))


class ServerRuntime(Struct, frozen=True):
    """A runtime. `start` is the command; `files` pairs a path with a text, below one directory."""

    language: str
    image: str
    start: tuple[str, ...]
    files: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        return hash_fields(part for pair in self.files for part in pair)


def find_server_runtime(runtime: str) -> ServerRuntime | None:
    """Return the runtime, or None if no public image has it."""
    if found := _NODE.fullmatch(runtime):
        start = ("node", f"{SERVER_FOLDER}/server.mjs")
        image = f"node:{found[1] or '22'}-slim"
        return ServerRuntime("nodejs", image, start, _list_node_files())
    if found := _PYTHON.fullmatch(runtime):
        image = f"python:{found[1] or '3.12'}-slim"
        return ServerRuntime("python", image, _PYTHON_START, _list_python_files())
    if is_custom_runtime(runtime):
        return ServerRuntime("program", _PROGRAM_IMAGE, _PYTHON_START, _list_python_files())
    return None


@functools.cache
def _list_node_files() -> tuple[tuple[str, str], ...]:
    top = _RUNTIMES / "nodejs"
    calling = (f"calling/{one.name}" for one in sorted((top / "calling").glob("*.mjs")))
    names = (
        "server.mjs",
        "framework.mjs",
        "unzip.mjs",
        *(f"{one}.mjs" for one in _SERVING),
        *calling,
    )
    return tuple((name, (top / name).read_text()) for name in names)


@functools.cache
def _list_python_files() -> tuple[tuple[str, str], ...]:
    top = _RUNTIMES / "python"
    calling = (f"calling/{one.name}" for one in sorted((top / "calling").glob("*.py")))
    names = (*_PYTHON_FILES, *(f"{one}.py" for one in _SERVING), *calling)
    return tuple((f"fabric/runtimes/python/{name}", (top / name).read_text()) for name in names)
