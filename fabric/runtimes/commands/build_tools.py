"""The tools of build commands: their programs, and the versions that they print.

A printed text is remembered by the program's path, time and size, so that most runs start no
process. This holds for the tools of presets and for version options of compiled programs. A script
can print another text although its file did not change, so it runs in each run.
"""

import contextlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.runtimes.commands.config_commands import ConfigCommand, run_config_command
from fabric.system.files.disk import read_bytes, write_atomic

_SECONDS = 60
# Version managers select the real program by these files: of the service or above it, ...
_VERSION_FILES = (
    *("rust-toolchain.toml", "rust-toolchain", ".tool-versions", "mise.toml", ".mise.toml"),
    *("global.json", ".java-version", ".go-version", ".sdkmanrc"),
)
# ... and of the user.
_USER_FILES = (".rustup/settings.toml", ".tool-versions", ".config/mise/config.toml")


_VERSION_OPTION = re.compile(r"-[vV]+|--?version")
# The first bytes of programs of Linux and macOS.
_COMPILED = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class BuildTools(Struct, frozen=True, kw_only=True):
    """The tools of one function, as they are found from its service directory."""

    function: str
    # The real absolute path.
    root: str
    env: Mapping[str, str]
    # Where printed texts are remembered.
    memory: Path
    # How to install a missing program.
    install: str = ""
    # The tools of the preset.
    own: tuple[tuple[str, ...], ...] = ()

    def describe(self, commands: Sequence[tuple[str, ...]]) -> str:
        """Return the printed texts. Raises if a program is missing or fails."""
        return "; ".join(self._read_version(one) for one in commands)

    def list_deciding_files(self, commands: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """List the paths that decide which programs run, existing or not."""
        programs = (self.find_program(one[0]) for one in commands)
        return (*programs, *_list_version_files(self.root, self.env))

    def find_program(self, name: str) -> str:
        """Find a program like the command does. Raises if it is missing."""
        path = os.path.join(self.root, name) if "/" in name else name
        found = shutil.which(path, path=self.env.get("PATH", ""))
        if found is None:
            where = "" if "/" in name else " on PATH"
            message = f"function `{self.function}`: its build requires `{name}`, not found{where}"
            hint = self.install or f"install `{name}`, or change `build.tools`"
            raise FabricError(Problem("runtime/tool-missing", message, hint=hint))
        return os.path.abspath(found)

    def can_remember(self, command: tuple[str, ...]) -> bool:
        """Return whether the printed text changes only with the program and the version files."""
        if command in self.own:
            return True
        name, *options = command
        is_version = len(options) == 1 and _VERSION_OPTION.fullmatch(options[0]) is not None
        return is_version and _is_compiled(self.find_program(name))

    def _read_version(self, command: tuple[str, ...]) -> str:
        if not self.can_remember(command):
            return self._run(command)
        kept = self.memory / hash_fields(self._list_facts(command))
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return read_bytes(kept).decode()
        text = self._run(command)
        # Without a writable cache the command runs again.
        with contextlib.suppress(FabricError, OSError):
            write_atomic(kept, text.encode(), mode=0o600)
        return text

    def _run(self, command: tuple[str, ...]) -> str:
        asked = ConfigCommand(
            failed=Problem(
                "runtime/tool-failed",
                f"function `{self.function}`",
                hint="run it in the service directory, and fix `build.tools` or the installation",
            ),
            command=command,
            timeout_hint="use a command that prints a version",
            timeout=_SECONDS,
            noun="the command of `build.tools`",
        )
        return run_config_command(asked, Path(self.root), self.env).text()

    def _list_facts(self, command: tuple[str, ...]) -> Iterator[str]:
        program = self.find_program(command[0])
        yield shlex.join(command)
        yield from (f"{name}={value}" for name, value in sorted(self.env.items()))
        for path in (program, *_list_version_files(self.root, self.env)):
            yield _describe_file(path)


def _list_version_files(root: str, env: Mapping[str, str]) -> Iterator[str]:
    folder = root
    while True:
        yield from (os.path.join(folder, name) for name in _VERSION_FILES)
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    if home := env.get("HOME"):
        yield from (os.path.join(home, name) for name in _USER_FILES)


def _is_compiled(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(4) in _COMPILED
    except OSError:
        return False


def _describe_file(path: str) -> str:
    real = os.path.realpath(path)
    try:
        found = os.stat(real)
    except OSError:
        return ""
    return f"{path} {real} {found.st_mtime_ns} {found.st_size}"
