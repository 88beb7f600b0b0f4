"""Exact inputs of a build command: the files that it lists in a depfile.

A depfile has the form of a Makefile rule, as compilers write it: `target: file file`. Spaces, `#`
and backslashes in names are escaped with a backslash, and `$` is doubled.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fabric.runtimes.command_inputs import record_below
from fabric.runtimes.contract import InputTrace
from fabric.runtimes.nodejs.toolchain import list_upwards
from fabric.runtimes.recorded_inputs import Probe, merge, record_tried
from fabric.system.disk import read_bytes

# A word, with escaped characters.
_WORD = re.compile(r"(?:\\.|[^\s\\])+", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\ #\t:])|\$\$")
# The end of the targets of a rule.
_TARGETS = re.compile(r"(?<!\\):(?=\s|$)")


def read_depfile(path: Path) -> tuple[str, ...]:
    """Return the listed paths, each once. A path that ends in `/` is a directory."""
    text = read_bytes(path).decode("utf-8", "surrogateescape")
    return tuple(dict.fromkeys(_list_paths(text.replace("\\\n", " "))))


def _list_paths(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        _, *files = _TARGETS.split(line, maxsplit=1)
        for word in _WORD.findall(files[0] if files else ""):
            yield _ESCAPED.sub(lambda found: found[1] or "$", word)


class ListedInputs:
    """Records the inputs that a depfile lists, relative to the service directory `root`.

    `left_out` are directories that do not count, such as caches of tools. `names` are project
    files, which count in each directory with sources and above it.
    """

    def __init__(
        self, base: str, root: str, *, left_out: Sequence[str], names: tuple[str, ...] = ()
    ) -> None:
        self._base, self._root = base, root
        self._left_out = tuple(f"{os.path.realpath(one)}/" for one in left_out)
        self._names = names
        self._probe = Probe(base)

    def record(self, listed: Iterable[str], ignore: tuple[str, ...]) -> InputTrace:
        """Record the files, and what could become an input in their directories.

        A new source in the directory of a listed one can change a build, as a new file of a Go
        package does. Therefore the names of files with the same extension count too.
        """
        places = [one for one in listed if self._counts(one)]
        folders = sorted({self._locate(one) for one in places if one.endswith("/")})
        files = sorted({self._locate(one) for one in places if not one.endswith("/")})
        patterns = sorted({_build_pattern(path) for path in files})
        listings = (
            *(record_names(self._base, folder, glob, ignore) for folder, glob in patterns),
            *(record_names(self._base, folder, "**", ()) for folder in folders),
        )
        return merge(
            record_tried(self._base, files, self._probe),
            record_tried(self._base, self._list_project_files(files), self._probe),
            *listings,
        )

    def _locate(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._root, path))

    def _counts(self, path: str) -> bool:
        real = os.path.realpath(os.path.join(self._root, path))
        return not f"{real}/".startswith(self._left_out)

    def _list_project_files(self, files: Iterable[str]) -> Iterator[str]:
        for folder in sorted({self._root, *map(os.path.dirname, files)}):
            yield from list_upwards(self._base, folder, self._names, self._probe)


def record_names(base: str, folder: str, pattern: str, ignore: tuple[str, ...]) -> InputTrace:
    """Record which files match, without their contents."""
    return InputTrace(listings=record_below(base, folder, pattern, ignore).listings)


def _build_pattern(path: str) -> tuple[str, str]:
    folder, name = os.path.split(path)
    extension = os.path.splitext(name)[1]
    return folder, f"*{extension}" if extension else "*"
