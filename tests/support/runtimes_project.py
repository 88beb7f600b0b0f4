"""Builders for tests of the runtimes: a project from a few texts, and a build's inputs."""

from collections.abc import Mapping
from pathlib import Path

from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built, InputTrace
from fabric.runtimes.file_rows import hash_row, read_rows
from fabric.runtimes.recorded_inputs import look_ups_hold


def write(workspace: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return workspace


def names(built: Built) -> list[str]:
    return sorted(file.path for file in built.files)


def text_of(built: Built, name: str) -> str:
    return next(file.content.decode() for file in built.files if file.path == name)


def digests(workspace: Path, seen: InputTrace) -> tuple[str, ...]:
    """The hashes of files and rows that were recorded."""
    files = (hash_bytes((workspace / path).read_bytes()) for path in seen.files)
    rows = (hash_rows(workspace / one.file, one.rows) for one in seen.rows)
    return (*files, *rows)


def hash_rows(file: Path, selectors: tuple[str, ...]) -> str:
    """The hash of some rows of a file, or of the whole file if it has none."""
    content = file.read_bytes()
    rows = read_rows(str(file), content)
    if rows is None:
        return hash_bytes(content)
    return hash_fields(hash_row(rows, one) for one in selectors)


def unchanged(workspace: Path, seen: InputTrace, known: tuple[str, ...]) -> bool:
    return look_ups_hold(str(workspace.resolve()), seen) and digests(workspace, seen) == known


def node(entry: str = "src/hello.handler", **options: object) -> BuildInputs:
    return BuildInputs("shop", "hello", "api", entry, "nodejs20.x", **options)  # type: ignore[arg-type]


def python(entry: str = "src/hello.handler", **options: object) -> BuildInputs:
    return BuildInputs("shop", "hello", "api", entry, "python3.11", **options)  # type: ignore[arg-type]
