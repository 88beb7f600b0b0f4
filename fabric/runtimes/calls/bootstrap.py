"""The command that starts the `bootstrap` of an archive on this machine."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.calls.function import LocalFunction
from fabric.runtimes.calls.native_files import Machine, describe_this_machine, find_processor

_NAME = "bootstrap"
_HEAD_BYTES = 256
# Programs of other systems, by their first bytes.
_OTHER_SYSTEMS: Mapping[bytes, str] = {
    b"MZ": "Windows",
    b"\xcf\xfa\xed\xfe": "macOS",
    b"\xca\xfe\xba\xbe": "macOS",
}
# Programs that run Linux programs for another processor.
_EMULATORS: Mapping[str, tuple[str, ...]] = {
    "arm64": ("qemu-aarch64-static", "qemu-aarch64"),
    "x86_64": ("qemu-x86_64-static", "qemu-x86_64"),
}


class _Bootstrap(Struct, frozen=True):
    """A bootstrap, and the start of its content."""

    function: str
    path: Path
    head: bytes

    def error(self, what: str, hint: str) -> FabricError:
        message = f"function `{self.function}`: its `{_NAME}` {what}"
        return FabricError(Problem("invoke/bad-bootstrap", message, hint))


def find_bootstrap_command(
    function: LocalFunction, code: Path, parent: Mapping[str, str]
) -> tuple[str, ...]:
    """Find the command. Raises for a program that this machine or AWS Lambda cannot start."""
    path = code / _NAME
    if not path.is_file():
        raise _Bootstrap(function.name, path, b"").error(
            "is missing at the top of the archive", "write it to the output directory of the build"
        )
    with path.open("rb") as file:
        bootstrap = _Bootstrap(function.name, path, file.read(_HEAD_BYTES))
    if not os.access(path, os.X_OK):
        raise bootstrap.error("is not executable", "set its mode to 0755: chmod +x bootstrap")
    if bootstrap.head.startswith(b"#!"):
        _check_script(bootstrap)
        return (str(path),)
    processor = _read_processor(bootstrap)
    wanted = function.caller.architecture or "x86_64"
    if function.caller.facts.is_lambda and processor != wanted:
        raise bootstrap.error(
            f"is a program for {processor}, but its `architecture` is {wanted} (Exec format error)",
            f"build it for {wanted}, or set `architecture: {processor}`",
        )
    return (*_find_emulator(bootstrap, processor, parent), str(path))


def _read_processor(bootstrap: _Bootstrap) -> str:
    head = bootstrap.head
    if processor := find_processor(head):
        return processor
    systems = (name for magic, name in _OTHER_SYSTEMS.items() if head.startswith(magic))
    if system := next(systems, ""):
        raise bootstrap.error(
            f"is a program for {system} (Exec format error)",
            "build it for Linux, such as GOOS=linux",
        )
    raise bootstrap.error(
        "is not a Linux program for x86_64 or arm64, or a script (Exec format error)",
        "begin a script with a line such as #!/bin/sh",
    )


def _check_script(bootstrap: _Bootstrap) -> None:
    """Check the interpreter. A missing one is otherwise reported as a missing `bootstrap`."""
    line = bootstrap.head[2:].partition(b"\n")[0]
    program = (line.split() or [b""])[0].decode(errors="replace")
    if line.endswith(b"\r"):
        raise bootstrap.error("has Windows line ends", "save it with Unix line ends (LF)")
    if not shutil.which(program):
        raise bootstrap.error(
            f"needs the interpreter `{program}`, which is not on this machine",
            f"install `{program}`, or invoke the deployed function",
        )


def _find_emulator(
    bootstrap: _Bootstrap, processor: str, parent: Mapping[str, str]
) -> tuple[str, ...]:
    machine: Machine = describe_this_machine()
    if machine.system != "linux":
        raise bootstrap.error(
            "is a program for Linux", "run this command on Linux, or invoke the deployed function"
        )
    if processor == machine.processor:
        return ()
    found = (shutil.which(name, path=parent.get("PATH", "")) for name in _EMULATORS[processor])
    emulator = next(filter(None, found), "")
    if not emulator:
        raise bootstrap.error(
            f"is a program for {processor}, and this machine is {machine.processor} "
            "(Exec format error)",
            f"install {_EMULATORS[processor][0]} (Debian and Ubuntu: qemu-user-static), or invoke "
            "the deployed function",
        )
    return (emulator,)
