"""Exact inputs of a build command: the files that it lists in a depfile.

A depfile has the form of a Makefile rule, as compilers write it: `target: file file`. Spaces, `#`
and backslashes in names are escaped with a backslash, and `$` is doubled.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from fabric.runtimes.commands.command_inputs import record_below
from fabric.runtimes.contract import InputTrace
from fabric.runtimes.nodejs.toolchain import list_upwards
from fabric.runtimes.nodejs.tsconfig import read_settings
from fabric.runtimes.recorded_inputs import Probe, merge, record_tried
from fabric.system.files.disk import read_bytes

# A word, with escaped characters.
_WORD = re.compile(r"(?:\\.|[^\s\\])+", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\ #\t:])|\$\$")
# A project file that can extend others.
_TSCONFIG = "tsconfig.json"
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


class ListedInputs(Struct, frozen=True, kw_only=True):
    """Records the inputs that a depfile lists."""

    # Real absolute paths of the workspace and of the service directory.
    base: str
    root: str
    # Directories that do not count, such as caches of tools.
    left_out: tuple[str, ...]
    # Names of project files, which count in each directory with sources and above it.
    project_files: tuple[str, ...] = ()
    # Extensions that imports can omit.
    extensions: tuple[str, ...] = ()
    # Ignore rules for names of files.
    ignore: tuple[str, ...] = ()

    def record(self, listed: Iterable[str]) -> InputTrace:
        """Record the files, and what could become an input in their directories.

        A new source in the directory of a listed one can change a build, as a new file of a Go
        package does. Therefore the names of files with the same extension count too.
        """
        left_out = tuple(f"{os.path.realpath(one)}/" for one in self.left_out)
        places = [one for one in listed if not self._is_in(one, left_out)]
        folders = sorted({self._locate(one) for one in places if one.endswith("/")})
        files = sorted({self._locate(one) for one in places if not one.endswith("/")})
        probe = Probe(self.base)
        listings = (
            *(self._record_names(*one, self.ignore) for one in sorted(self._list_patterns(files))),
            *(self._record_names(folder, "**", ()) for folder in folders),
        )
        project_files = self._list_project_files(files, probe)
        return merge(record_tried(self.base, (*files, *project_files), probe), *listings)

    def _locate(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.root, path))

    def _is_in(self, path: str, folders: tuple[str, ...]) -> bool:
        return f"{os.path.realpath(os.path.join(self.root, path))}/".startswith(folders)

    def _record_names(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> InputTrace:
        """Record which files match, without their contents."""
        return InputTrace(listings=record_below(self.base, folder, pattern, ignore).listings)

    def _list_patterns(self, files: Iterable[str]) -> set[tuple[str, str]]:
        """List the directories with a pattern of the names that count there."""
        found = {_build_pattern(path) for path in files}
        above = {one for path in files for one in self._list_folders_above(path)}
        return found | {(folder, f"*{end}") for folder in above for end in self.extensions}

    def _list_folders_above(self, path: str) -> Iterator[str]:
        folder = os.path.dirname(path)
        yield folder
        while folder.startswith(f"{self.root}/"):
            folder = os.path.dirname(folder)
            yield folder

    def _list_project_files(self, files: Iterable[str], probe: Probe) -> Iterator[str]:
        for folder in sorted({self.root, *map(os.path.dirname, files)}):
            for path in list_upwards(self.base, folder, self.project_files, probe):
                yield path
                if os.path.basename(path) == _TSCONFIG and probe.is_file(path):
                    yield from read_settings(path).tried


def _build_pattern(path: str) -> tuple[str, str]:
    folder, name = os.path.split(path)
    extension = os.path.splitext(name)[1]
    return folder, f"*{extension}" if extension else "*"
