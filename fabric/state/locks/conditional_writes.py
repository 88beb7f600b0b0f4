"""Check that a store enforces write conditions. Otherwise two deploys could write at the same
time."""

import contextlib

from fabric.model.problems import FabricError, Problem
from fabric.state.contract import Backend, MovedError, Version

_FOLDER = ".probe/"


def refuse_unconditional(backend: Backend, token: str) -> None:
    """Raise if a store accepts a write with a false condition. `token` must be new each time."""
    key = f"{_FOLDER}{token}"
    try:
        conditional = _has_conditional_writes(backend, key)
    finally:
        _clear(backend, key)
    if not conditional:
        raise FabricError(
            Problem(
                "backend/no-conditions",
                f"`{backend.place}` does not support conditional writes, so state could be lost",
                hint="use a store with conditional writes, or set `backend.kind: sql`",
            )
        )


def _has_conditional_writes(backend: Backend, key: str) -> bool:
    """Test conditional writes. Each content differs, because identical bytes can pass as one
    write."""
    first = backend.write(key, b"first", None)
    if _try_write(backend, key, b"second", None):
        return False
    backend.write(key, b"third", first)
    return not _try_write(backend, key, b"fourth", first) and _has_conditional_delete(
        backend, key, first
    )


def _try_write(backend: Backend, key: str, content: bytes, expected: Version | None) -> bool:
    try:
        backend.write(key, content, expected)
    except MovedError:
        return False
    return True


def _has_conditional_delete(backend: Backend, key: str, stale: Version) -> bool:
    """Test that a delete with an old version leaves the key unchanged."""
    try:
        backend.delete(key, stale)
    except MovedError:
        return True
    return False


def _clear(backend: Backend, key: str) -> None:
    with contextlib.suppress(MovedError, FabricError):
        if found := backend.read(key):
            backend.delete(key, found.version)
