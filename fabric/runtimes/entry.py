"""Find the file of a function's `entry`: a path, or `<module>.<export>`; always inside its root."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import InputTrace
from fabric.runtimes.recorded_inputs import Kind, Probe, place, record_tried

NODE_EXTENSIONS = (".ts", ".tsx", ".mts", ".js", ".mjs", ".cjs")
PYTHON_EXTENSIONS = (".py",)
# Looked for only by their whole name.
_BY_WHOLE_NAME = (".jsx", ".cts", "")
# A module as Python names it: `src.api.orders`.
_DOTTED = re.compile(r"\w+(\.\w+)+")


class EntryFile(Struct, frozen=True):
    """The file of an entry. `workspace`, `root` and `path` are real absolute paths; `name` is
    relative to the root."""

    workspace: str
    root: str
    path: str
    name: str
    # Empty if the config names none: then `handler` is used, otherwise `default`.
    export: str
    looked_at: tuple[str, ...]
    probe: Probe

    @property
    def seen(self) -> InputTrace:
        """The recorded lookup of the entry."""
        return record_tried(self.workspace, self.looked_at, self.probe)

    @property
    def module(self) -> str:
        return os.path.splitext(self.name)[0]


def locate(workspace: Path, inputs: BuildInputs, extensions: Sequence[str]) -> EntryFile:
    """Find the entry's file, and record every path that was tried before it."""
    base = os.path.realpath(workspace)
    root = os.path.realpath(os.path.join(base, inputs.root))
    probe = Probe(base)
    named = list_entry_candidates(inputs.entry, extensions)
    candidates = [(os.path.normpath(name), export) for name, export in named]
    for at, (name, export) in enumerate(candidates):
        path = _join_normalized(root, name)
        if probe.kind(path) is Kind.FILE:
            real = probe.real(path)
            _refuse_outside(inputs, root, real)
            _refuse_no_code(inputs, place(base, path), extensions)
            if not os.access(real, os.R_OK):
                raise unreadable_file_error(place(base, path), "permission denied")
            looked_at = tuple(_join_normalized(root, name) for name, _ in candidates[: at + 1])
            return EntryFile(
                workspace=base,
                root=root,
                path=path,
                name=name,
                export=export,
                looked_at=looked_at,
                probe=probe,
            )
    raise _missing_entry_error(inputs, place(base, os.path.join(root, candidates[0][0])))


def locate_source(workspace: Path, inputs: BuildInputs, *, is_optional: bool = False) -> EntryFile:
    """Find the entry of a runtime without built-in builds: a file or a directory of sources.

    With `is_optional` the entry can be another name, such as the handler of a managed runtime.
    """
    base = os.path.realpath(workspace)
    root = os.path.realpath(os.path.join(base, inputs.root))
    path = _join_normalized(root, inputs.entry)
    probe = Probe(base)
    if probe.kind(path) is not Kind.NOTHING:
        real = probe.real(path) if path != root else root
        if real != root:
            _refuse_outside(inputs, root, real)
        looked_at: tuple[str, ...] = (path,)
    elif is_optional:
        looked_at = () if "\0" in path else (path,)
    else:
        hint = "correct `entry`: a file or directory, relative to the service directory"
        raise _missing_entry_error(inputs, place(base, path), hint)
    return EntryFile(
        workspace=base,
        root=root,
        path=path,
        name=os.path.normpath(inputs.entry),
        export="",
        looked_at=looked_at,
        probe=probe,
    )


def _join_normalized(root: str, name: str) -> str:
    return os.path.normpath(os.path.join(root, name))


def list_entry_candidates(
    entry: str, extensions: Sequence[str] = PYTHON_EXTENSIONS
) -> list[tuple[str, str]]:
    """List candidates in order, each with the export that it would mean; a plain path has
    precedence."""
    module, dot, export = entry.rpartition(".")
    plain = [(entry, "")]
    if not dot or "/" in export or f".{export}" in extensions:
        return plain
    found = plain + [(module + extension, export) for extension in extensions]
    if extensions == PYTHON_EXTENSIONS and _DOTTED.fullmatch(module):
        path = module.replace(".", "/")
        found += [(f"{path}.py", export), (f"{path}/__init__.py", export)]
    return found


def _refuse_outside(inputs: BuildInputs, root: str, real: str) -> None:
    if not real.startswith(root + os.sep):
        raise FabricError(
            Problem(
                "build/entry-outside",
                f"the entry `{inputs.entry}` of function `{inputs.function}` is outside the "
                "service directory",
                hint="move the handler into the directory of its fabric.yml",
            )
        )


def _refuse_no_code(inputs: BuildInputs, shown: str, extensions: Sequence[str]) -> None:
    """Raise for a file that is not source code. A custom build command can use any file."""
    is_python = extensions == PYTHON_EXTENSIONS
    loaded = (extension for extension, _ in inputs.loader)
    known = extensions if is_python else (*extensions, *_BY_WHOLE_NAME, *loaded)
    if inputs.command or os.path.splitext(shown)[1] in known:
        return
    language = "Python" if is_python else "JavaScript or TypeScript"
    raise FabricError(
        Problem(
            "build/entry-no-code",
            f"the entry `{inputs.entry}` of function `{inputs.function}` is not a {language} file",
            hint=f"use {', '.join(extensions)} for runtime `{inputs.runtime}`",
            where=Place(shown),
        )
    )


def refuse_not_utf8(inputs: BuildInputs, names: Iterable[str]) -> None:
    """Raise for a path that is not UTF-8: archives and bundlers support only text names."""
    for name in names:
        shown = os.fsencode(name).decode("utf-8", "backslashreplace")
        if shown != name:
            raise FabricError(
                Problem(
                    "build/bad-name",
                    f"function `{inputs.function}`: the name `{shown}` is not UTF-8",
                    hint="rename the file, or exclude it with `build.ignore`",
                )
            )


def unreadable_file_error(shown: str, reason: str) -> FabricError:
    return FabricError(
        Problem(
            "build/unreadable",
            f"cannot read `{shown}`: {reason.lower()}",
            hint="check the owner and permissions of the file",
            where=Place(shown),
        )
    )


_ENTRY_HINT = "correct `entry`: a path of a source file, or `<module>.<export>`"


def _missing_entry_error(inputs: BuildInputs, shown: str, hint: str = "") -> FabricError:
    return FabricError(
        Problem(
            "build/missing-entry",
            f"function `{inputs.function}`: entry not found: `{shown}`",
            hint=hint or _ENTRY_HINT,
            where=Place(shown),
        )
    )
