"""Paths in a config that a caller sent: where links lead counts, not what they are called."""

import os
from collections.abc import Iterator
from pathlib import Path

from fabric.config.rules.strangers import CODE, HINT
from fabric.config.values import Config
from fabric.model.problems import FabricError, Place, Problem

_WILD = frozenset("*?[{")


def refuse_ways_out(config: Config, folder: Path, workspace: Path) -> None:
    """Raises for entries and includes that lead out of the workspace once links are followed."""
    top = os.path.realpath(workspace)
    problems = [
        Problem(CODE, f"the path `{path}` of function `{name}` leads out of the workspace", HINT,
                Place(config.file))
        for name, path in _paths(config)
        if not _is_below(os.path.realpath(folder / _fixed(path)), top)
    ]  # fmt: skip
    if problems:
        raise FabricError(*problems)


def _paths(config: Config) -> Iterator[tuple[str, str]]:
    for function in config.functions:
        yield function.name, function.entry
        if function.build.tsconfig:
            yield function.name, function.build.tsconfig
        for pattern in function.include:
            yield function.name, pattern


def _fixed(pattern: str) -> str:
    """The folders before the first wildcard."""
    parts = pattern.split("/")
    wild = next((n for n, part in enumerate(parts) if _WILD & set(part)), len(parts))
    return "/".join(parts[:wild])


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top.rstrip('/')}/")
