"""The command of a `bootstrap`, and programs that cannot run."""

import platform
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.calls.bootstrap import find_bootstrap_command
from fabric.runtimes.calls.function import LocalFunction
from tests.support.bootstraps import bootstrap_function, caller

X86, ARM = b"\x3e\x00", b"\xb7\x00"
IS_X86 = platform.machine() == "x86_64"
OWN, OTHER = (X86, ARM) if IS_X86 else (ARM, X86)
OWN_NAME, OTHER_NAME = ("x86_64", "arm64") if IS_X86 else ("arm64", "x86_64")
EMULATOR = "qemu-aarch64-static" if IS_X86 else "qemu-x86_64-static"


def elf(processor: bytes) -> bytes:
    return b"\x7fELF" + bytes(14) + processor + bytes(40)


def function(architecture: str = OWN_NAME) -> LocalFunction:
    return replace(bootstrap_function(""), caller=caller(architecture))


def write(folder: Path, content: bytes, mode: int = 0o755) -> Path:
    path = folder / "bootstrap"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def problem(folder: Path, architecture: str = OWN_NAME) -> Problem:
    with pytest.raises(FabricError) as caught:
        find_bootstrap_command(function(architecture), folder, {"PATH": ""})
    return caught.value.first


def test_a_program_for_this_machine_is_started_directly(tmp_path: Path) -> None:
    path = write(tmp_path, elf(OWN))
    assert find_bootstrap_command(function(), tmp_path, {}) == (str(path),)


def test_a_program_for_another_processor_needs_an_emulator(tmp_path: Path) -> None:
    path = write(tmp_path, elf(OTHER))
    tools = tmp_path / "tools"
    tools.mkdir()
    emulator = tools / EMULATOR
    emulator.write_text("")
    emulator.chmod(0o755)
    found = find_bootstrap_command(function(OTHER_NAME), tmp_path, {"PATH": str(tools)})
    assert found == (str(emulator), str(path))
    assert EMULATOR in problem(tmp_path, OTHER_NAME).hint


def test_a_missing_bootstrap_is_reported(tmp_path: Path) -> None:
    assert "is missing" in problem(tmp_path).message


@pytest.mark.parametrize(
    ("content", "mode", "text", "hint"),
    [
        (elf(OWN), 0o644, "is not executable", "chmod"),
        (elf(OTHER), 0o755, f"is a program for {OTHER_NAME}", f"architecture: {OTHER_NAME}"),
        (b"MZ" + bytes(60), 0o755, "is a program for Windows", "GOOS=linux"),
        (b"\xcf\xfa\xed\xfe" + bytes(60), 0o755, "is a program for macOS", "GOOS=linux"),
        (b"echo hello\n", 0o755, "is not a Linux program", "#!/bin/sh"),
        (b"", 0o755, "is not a Linux program", "#!/bin/sh"),
        (b"#!/bin/sh\r\necho\r\n", 0o755, "has Windows line ends", "LF"),
        (b"#!/nowhere/deno\n", 0o755, "interpreter `/nowhere/deno`", "install"),
    ],
)
def test_a_bootstrap_that_cannot_start_is_reported_with_its_reason(
    tmp_path: Path, content: bytes, mode: int, text: str, hint: str
) -> None:
    write(tmp_path, content, mode)
    found = problem(tmp_path)
    assert found.code == "invoke/bad-bootstrap"
    assert text in found.message
    assert hint in found.hint
