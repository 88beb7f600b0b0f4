"""`build.command`: the project's own build, which writes a function's files to FABRIC_OUT_DIR.

What it reads is not known, so all files of the service count, but for ignored ones.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.model.task import BuildInputs
from fabric.runtimes.contract import Built, BuiltFile, Listing, Seen
from fabric.runtimes.entry import Entry
from fabric.runtimes.globs import NOTHING_PRUNED, list_files
from fabric.runtimes.include import read_ignore_rules
from fabric.runtimes.nodejs.locks import LOCK_FILES, upwards
from fabric.runtimes.seen import merge, place, tried
from fabric.system.disk import read_bytes
from fabric.system.process import run_child

IDENTITY = "command 1"
_FROM_PARENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
_BUNDLES = ("index.js", "index.mjs", "index.cjs")


def build(entry: Entry, inputs: BuildInputs, parent: Mapping[str, str]) -> Built:
    """Run the command; the inputs are listed before it runs, so that its own files do not count."""
    seen = merge(entry.seen, _whole_service(entry, inputs))
    with tempfile.TemporaryDirectory(prefix="fabric-build-") as folder:
        _run(entry, inputs, Path(folder), parent)
        files = tuple(_collect(folder))
    if not files:
        raise _failed(inputs, "wrote no file to FABRIC_OUT_DIR", "")
    return Built(files, seen, handler=_handler(entry, files), toolchain=IDENTITY)


def _run(entry: Entry, inputs: BuildInputs, out: Path, parent: Mapping[str, str]) -> None:
    env = {
        **{name: parent[name] for name in _FROM_PARENT if name in parent},
        **dict(inputs.env),
        "FABRIC_FUNCTION": inputs.function,
        "FABRIC_SERVICE": inputs.service,
        "FABRIC_ENTRY": inputs.entry,
        "FABRIC_RUNTIME": inputs.runtime,
        "FABRIC_OUT_DIR": str(out),
    }
    result = run_child(inputs.command, cwd=Path(entry.root), env=env)
    if result.code:
        raise _failed(inputs, f"ended with exit code {result.code}", result.last_lines())


def _failed(inputs: BuildInputs, what: str, output: str) -> FabricError:
    command = " ".join(inputs.command)
    return FabricError(
        Problem(
            "build/failed",
            f"function `{inputs.function}`: the build command `{command}` {what}",
            hint="the command runs in the service's folder and writes to $FABRIC_OUT_DIR",
            frame=output,
        )
    )


def _whole_service(entry: Entry, inputs: BuildInputs) -> Seen:
    """All files of the service, and the lock files for what is installed in node_modules."""
    ignore = read_ignore_rules(entry.workspace, entry.root, inputs)
    names = list_files(entry.root, "**", ignore.rules)
    listing = Listing(place(entry.workspace, entry.root), "**", names, ignore.rules)
    paths = [os.path.join(entry.root, name) for name in names]
    locks = upwards(entry.workspace, entry.root, LOCK_FILES, entry.probe)
    files = tried(entry.workspace, [*paths, *locks], entry.probe)
    return merge(ignore.seen, files, Seen(listings=(listing,)))


def _collect(folder: str) -> list[BuiltFile]:
    names = list_files(folder, "**", (NOTHING_PRUNED,))
    return [_built(os.path.join(folder, name), name) for name in names]


def _built(path: str, name: str) -> BuiltFile:
    return BuiltFile(name, read_bytes(path), executable=os.access(path, os.X_OK))


def _handler(entry: Entry, files: tuple[BuiltFile, ...]) -> str:
    bundled = any(file.path in _BUNDLES for file in files)
    return f"{'index' if bundled else entry.module}.{entry.export or 'handler'}"
