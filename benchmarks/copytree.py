"""The states of a benchmark tree: as a cold run leaves it, edited, and what came out of it."""

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from zipfile import ZipFile

from benchmarks.copygraph import Shape, folder
from benchmarks.peers import Tool, clear, side, tree
from benchmarks.places import REPO, digest_of_sources
from benchmarks.rounds import Side, alternate

# A file written in the clock tick of a look at it could change again unseen: let the tick pass.
_SETTLE = 0.05
_FIRST = time.time_ns()


def outputs(root: Path) -> str:
    """A digest of all outputs; of an archive, the names and contents of its members."""
    digest = hashlib.sha256()
    for path in sorted((root / "services").glob("svc-*/**/*")):
        if path.suffix in (".out", ".zip") or path.name == "deploy.json":
            for name, content in _members(path):
                digest.update(f"{path.relative_to(root)}\0{name}\0{len(content)}\0".encode())
                digest.update(content)
    return digest.hexdigest()


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix != ".zip":
        yield "", path.read_bytes()
        return
    with ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            yield name, archive.read(name)


def same_outputs(tools: Sequence[Tool], shape: Shape) -> None:
    """Whatever the row measured, all sides must have come to the same tree."""
    digests = {tool.name: outputs(tree(tool, shape)) for tool in tools}
    if len(set(digests.values())) != 1:
        raise SystemExit(f"the outputs differ: {digests}")
    print(f"  outputs equal: {next(iter(digests.values()))[:16]}", flush=True)


def primed(tool: Tool, shape: Shape) -> None:
    """The tree as a finished run leaves it, then one run that finds nothing to do."""
    root = tree(tool, shape)
    _revise(root, shape, "")
    mark = root / ".primed"
    version = digest_of_sources(REPO / "fabric") if tool.name == "fabric" else ""
    if not mark.exists() or mark.read_text() != version:
        clear(root)
        alternate([side(tool, shape, _rest, shape.tasks)], 1, warm_up=0)
        mark.write_text(version)
    time.sleep(_SETTLE)
    alternate([side(tool, shape, _rest, None)], 2, warm_up=0)


def _rest(root: Path) -> None:
    del root
    time.sleep(_SETTLE)


def idle(tool: Tool, shape: Shape) -> Side:
    return side(tool, shape, lambda _: None, 0)


def revisions() -> Iterator[int]:
    """Numbers that no earlier run used: what it built is remembered. Equal for all sides."""
    return count(_FIRST)


def edited(tool: Tool, shape: Shape, text: str, expect: int | None) -> Side:
    """One function of a service in the middle, changed anew before each round."""
    numbers = revisions()

    def edit(root: Path) -> None:
        _revise(root, shape, text.format(number=next(numbers)))
        time.sleep(_SETTLE)

    return side(tool, shape, edit, expect)


def _revise(root: Path, shape: Shape, tail: str) -> None:
    """Give the edited source another tail, if it does not have it already."""
    path = root / folder(shape.services // 2) / "src" / "fn_0.txt"
    before = path.read_text()
    after = before.partition("\f")[0].partition("--")[0] + tail
    if after != before:
        path.write_text(after)


def from_nothing(tool: Tool, shape: Shape) -> Side:
    def prepare(root: Path) -> None:
        (root / ".primed").unlink(missing_ok=True)
        _revise(root, shape, "")
        clear(root)
        os.sync()

    return side(tool, shape, prepare, shape.tasks)
