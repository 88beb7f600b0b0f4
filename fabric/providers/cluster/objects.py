"""Kubernetes objects as JSON: access to fields, and comparison. No effects."""

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from fabric.model.hashing import hash_fields

KubeObject: TypeAlias = dict[str, object]
# Names of rows in lists that the cluster itself keeps apart by them.
_KEYS = ("name", "mountPath", "containerPort", "key")


def read_at(thing: object, *keys: str) -> object:
    for key in keys:
        thing = thing.get(key) if isinstance(thing, Mapping) else None
    return thing


def read_text_at(thing: object, *keys: str) -> str:
    found = read_at(thing, *keys)
    return found if isinstance(found, str) else ""


def count_at(thing: object, *keys: str) -> int:
    found = read_at(thing, *keys)
    return found if isinstance(found, int) else 0


def read_rows_at(thing: object, *keys: str) -> list[KubeObject]:
    found = read_at(thing, *keys)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def read_texts_at(thing: object, *keys: str) -> dict[str, str]:
    found = read_at(thing, *keys)
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def format_key(thing: object) -> str:
    """Return the name for kubectl, such as `Deployment/shop-dev-hello`."""
    return f"{read_text_at(thing, 'kind')}/{read_text_at(thing, 'metadata', 'name')}"


def group_by_key(things: Iterable[KubeObject]) -> dict[str, KubeObject]:
    return {format_key(one): one for one in things}


def has_all_fields(there: object, wanted: object) -> bool:
    """Return whether all desired fields are present, ignoring fields that the cluster adds."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(
            has_all_fields(there.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(there, list) and _has_all_rows(there, wanted)
    return there == wanted


def _has_all_rows(there: list[object], wanted: list[object]) -> bool:
    """Compare lists. Rows with names are matched by name, because other writers can insert rows."""
    key = next((one for one in _KEYS if all(_has(row, one) for row in wanted)), "")
    if not key or not wanted:
        return len(there) == len(wanted) and all(map(has_all_fields, there, wanted))
    rows = {str(read_at(row, key)): row for row in there}
    return all(has_all_fields(rows.get(str(read_at(row, key))), row) for row in wanted)


def _has(row: object, key: str) -> bool:
    return isinstance(row, Mapping) and key in row


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
