"""Files that a function adds with `include`, filtered by `.fabricignore` and `build.ignore`.

A pattern is relative to the service directory. A pattern outside it (`../../libs/shared/**`) adds a
shared library. The directory before the first wildcard then keeps its name at the top of the
archive (`shared/…`), where imports find it.
"""

import os
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import PRIVATE_NAMES
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built, BuiltFile, InputTrace, Listing
from fabric.runtimes.entry import unreadable_file_error
from fabric.runtimes.globs import list_files, read_rules, split_pattern
from fabric.runtimes.recorded_inputs import merge, place, record_tried
from fabric.system.files.disk import is_executable, read_bytes

IGNORE_FILE = ".fabricignore"
# What a wildcard does not mean: variables of the deployer. Who names such a file gets it.
PRIVATE_RULES = (
    *(".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template"),
    *PRIVATE_NAMES,
)


class IgnoreRules(Struct, frozen=True):
    rules: tuple[str, ...]
    seen: InputTrace


class Pattern(Struct, frozen=True):
    """A pattern. `folder` is absolute and `glob` is relative to it; `library` is set for a
    directory outside the service."""

    folder: str
    glob: str
    library: str = ""


def read_ignore_rules(workspace: str, root: str, ignore: tuple[str, ...]) -> IgnoreRules:
    """Read the rules of `.fabricignore`, then those of the config: later ones take precedence."""
    path = os.path.join(root, IGNORE_FILE)
    try:
        text = read_bytes(path).decode("utf-8-sig", "replace")
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise unreadable_file_error(place(workspace, path), str(error.strerror)) from error
    return IgnoreRules((*read_rules(text), *ignore), record_tried(workspace, [path]))


def list_patterns(root: str, inputs: BuildInputs) -> tuple[Pattern, ...]:
    return tuple(_parse_pattern(root, text) for text in inputs.include)


def collect_included(workspace: Path, inputs: BuildInputs) -> Built:
    """Collect the extra files of one function."""
    if not inputs.include:
        return Built((), InputTrace())
    base = os.path.realpath(workspace)
    root = os.path.realpath(os.path.join(base, inputs.root))
    ignore = read_ignore_rules(base, root, inputs.ignore)
    parts = [_match_files(base, pattern, ignore.rules) for pattern in list_patterns(root, inputs)]
    files = {file.path: file for part in parts for file in part.files}
    empty = (text for text, part in zip(inputs.include, parts, strict=True) if not part.files)
    return Built(
        tuple(files.values()),
        merge(ignore.seen, *(part.seen for part in parts)),
        tuple(_no_match_problem(inputs, text) for text in empty),
    )


def _no_match_problem(inputs: BuildInputs, text: str) -> Problem:
    return Problem(
        "config/no-match",
        f"function `{inputs.function}`: no file matches `{text}` of `include`",
        hint="check the pattern: it is relative to the service directory, and ignores "
        f"node_modules and matches of `{IGNORE_FILE}` and `build.ignore`",
    )


def _parse_pattern(root: str, text: str) -> Pattern:
    fixed, rest = split_pattern(text)
    start = os.path.normpath(os.path.join(root, fixed))
    if start == root or start.startswith(root + os.sep):
        inside = os.path.relpath(start, root)
        parts = [part for part in (inside if inside != "." else "", rest) if part]
        return Pattern(root, "/".join(parts))
    library = os.path.basename(start)
    if root.startswith(start + os.sep) or not library:
        raise FabricError(
            Problem(
                "build/failed",
                f"include `{text}` refers to a directory that contains the service itself",
                hint="name a directory before the first wildcard",
            )
        )
    return Pattern(os.path.dirname(start), f"{library}/{rest}" if rest else library, library)


def _match_files(workspace: str, pattern: Pattern, rules: tuple[str, ...]) -> Built:
    rules = rules if _is_private_pattern(pattern.glob) else (*PRIVATE_RULES, *rules)
    names = list_files(pattern.folder, pattern.glob, rules)
    listing = Listing(place(workspace, pattern.folder), pattern.glob, names, rules)
    own = os.path.join(pattern.folder, pattern.library) if pattern.library else workspace
    for name in names:
        refuse_outside_link(workspace, own, os.path.join(pattern.folder, name), "include")
    return read_named(workspace, pattern.folder, listing)


def _is_private_pattern(glob: str) -> bool:
    parts = glob.split("/")
    return any(part.startswith(".env") or part in PRIVATE_NAMES for part in parts)


def refuse_outside_link(workspace: str, own: str, path: str, origin: str) -> None:
    """Raise for a link out of the project, unless it stays in the directory `own`. `origin` is
    the key or package with the file."""
    real = os.path.realpath(path)
    if not any(real == folder or real.startswith(f"{folder}/") for folder in (workspace, own)):
        shown = place(workspace, path)
        raise FabricError(
            Problem(
                "build/include-outside",
                f"refusing to package `{shown}` of `{origin}`: it is a link to a path outside "
                "the project",
                hint="replace it with a copy, or exclude it with `build.ignore`",
                where=Place(shown),
            )
        )


def read_named(workspace: str, folder: str, listing: Listing) -> Built:
    """Read the files of a listing, each with its archive name."""
    paths = [os.path.join(folder, name) for name in listing.names]
    files = tuple(
        _read(workspace, path, name) for path, name in zip(paths, listing.names, strict=True)
    )
    return Built(files, merge(record_tried(workspace, paths), InputTrace(listings=(listing,))))


def _read(workspace: str, path: str, name: str) -> BuiltFile:
    try:
        return BuiltFile(name, read_bytes(path), executable=is_executable(path))
    except OSError as error:
        raise unreadable_file_error(place(workspace, path), str(error.strerror)) from error


def join_builds(main: Built, extra: Built) -> Built:
    """Add the extra files to the function's files, which take precedence at equal paths."""
    if extra.seen == InputTrace():
        return main
    own = {file.path for file in main.files}
    more = tuple(file for file in extra.files if file.path not in own)
    return replace(
        main,
        files=(*main.files, *more),
        seen=merge(main.seen, extra.seen),
        warnings=(*main.warnings, *extra.warnings),
    )
