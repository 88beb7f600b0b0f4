"""The container of a function: a public image, and fabric's own files beside it."""

import functools
import re
from pathlib import Path

from msgspec import Struct

from fabric.model.hashing import hash_fields

# They are data here: what is in them runs in the container alone.
_RUNTIMES = Path(__file__).parents[2] / "runtimes"
_NODE = re.compile(r"nodejs(?:(18|20|22|24)(?:\.x)?)?")
_PYTHON = re.compile(r"python(3\.1[1-4])?")


class PodRuntime(Struct, frozen=True):
    """A runtime. `start` is the command; `files` pairs a path with a text, below one directory."""

    language: str
    image: str
    start: tuple[str, ...]
    files: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        return hash_fields(part for pair in self.files for part in pair)


FOLDER = "/fabric/runtime"


def find_pod_runtime(runtime: str) -> PodRuntime | None:
    """Return the runtime, or None if no public image has it."""
    if found := _NODE.fullmatch(runtime):
        start = ("node", f"{FOLDER}/server.mjs")
        return PodRuntime("nodejs", f"node:{found[1] or '22'}-slim", start, _list_node_files())
    if found := _PYTHON.fullmatch(runtime):
        # Handlers find what is in their archive, and nothing beside the server.
        command = ("python", "-u", "-P", f"{FOLDER}/fabric/runtimes/python/serve.py")
        return PodRuntime(
            "python", f"python:{found[1] or '3.12'}-slim", command, _list_python_files()
        )
    return None


@functools.cache
def _list_node_files() -> tuple[tuple[str, str], ...]:
    top = _RUNTIMES / "nodejs"
    own = (
        *("server.mjs", "serving_answers.mjs", "serving_http.mjs"),
        *("serving_routes.mjs", "unzip.mjs"),
    )
    calling = sorted(one.name for one in (top / "calling").glob("*.mjs"))
    names = (*own, *(f"calling/{name}" for name in calling))
    return tuple((name, (top / name).read_text()) for name in names)


@functools.cache
def _list_python_files() -> tuple[tuple[str, str], ...]:
    top = _RUNTIMES / "python"
    own = (
        *("serve.py", "server.py", "serving_answers.py"),
        *("serving_http.py", "serving_routes.py"),
    )
    calling = sorted(one.name for one in (top / "calling").glob("*.py"))
    names = (*own, *(f"calling/{name}" for name in calling))
    return tuple((f"fabric/runtimes/python/{name}", (top / name).read_text()) for name in names)
