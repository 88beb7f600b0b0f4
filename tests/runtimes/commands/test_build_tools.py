"""Tools of build commands: their printed versions are remembered, and missing ones reported."""

import os
import sys
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.commands.build_tools import BuildTools
from tests.support.runtimes_project import write


def tool(folder: Path, text: str, name: str = "compiler") -> None:
    """A program that prints a version, and counts its starts."""
    path = folder / "bin" / name
    write(folder, {f"bin/{name}": f"#!/bin/sh\necho run >> {folder}/runs\n{text}\n"})
    path.chmod(0o755)


COMMAND = (("compiler", "--version"),)


def tools(folder: Path, install: str = "", *, is_own: bool = True) -> BuildTools:
    """The tools of a preset, or those of a config."""
    env = {"PATH": f"{folder}/bin:{os.defpath}", "HOME": str(folder)}
    memory = folder / "memory"
    return BuildTools(
        function="hello",
        root=str(folder),
        env=env,
        memory=memory,
        install=install,
        own=COMMAND if is_own else (),
    )


def link_program(folder: Path) -> None:
    """A compiled program: the interpreter."""
    (folder / "bin").mkdir()
    (folder / "bin" / "compiler").symlink_to(os.path.realpath(sys.executable))


def runs(folder: Path) -> int:
    path = folder / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_the_printed_text_is_remembered(tmp_path: Path) -> None:
    tool(tmp_path, "echo compiler 1.0; echo with LLVM >&2")
    assert tools(tmp_path).describe(COMMAND) == "compiler 1.0\nwith LLVM"
    assert tools(tmp_path).describe(COMMAND) == "compiler 1.0\nwith LLVM"
    assert runs(tmp_path) == 1


def test_a_script_of_the_config_runs_again(tmp_path: Path) -> None:
    write(tmp_path, {"version": "1"})
    tool(tmp_path, f"cat {tmp_path}/version")
    assert tools(tmp_path, is_own=False).describe(COMMAND) == "1"
    write(tmp_path, {"version": "2"})
    assert tools(tmp_path, is_own=False).describe(COMMAND) == "2"
    assert not (tmp_path / "memory").exists()


@pytest.mark.parametrize("options", [["-c", "cat version"], ["a.sh"], ["--version", "x"], []])
def test_other_arguments_of_a_compiled_program_are_not_remembered(
    options: list[str], tmp_path: Path
) -> None:
    link_program(tmp_path)
    assert not tools(tmp_path, is_own=False).can_remember(("compiler", *options))


def test_the_version_of_a_compiled_program_is_remembered(tmp_path: Path) -> None:
    link_program(tmp_path)
    assert tools(tmp_path, is_own=False).describe(COMMAND).startswith("Python 3")
    [kept] = (tmp_path / "memory").iterdir()
    kept.write_text("remembered")
    assert tools(tmp_path, is_own=False).describe(COMMAND) == "remembered"


def test_a_replaced_program_is_asked_again(tmp_path: Path) -> None:
    tool(tmp_path, "echo compiler 1.0")
    tools(tmp_path).describe(COMMAND)
    tool(tmp_path, "echo compiler 1.0.1")
    assert tools(tmp_path).describe(COMMAND) == "compiler 1.0.1"


def test_a_file_that_selects_a_version_counts(tmp_path: Path) -> None:
    tool(tmp_path, "cat rust-toolchain 2>/dev/null || echo stable")
    assert tools(tmp_path).describe(COMMAND) == "stable"
    write(tmp_path, {"rust-toolchain": "nightly"})
    assert tools(tmp_path).describe(COMMAND) == "nightly"
    assert f"{tmp_path}/rust-toolchain" in tools(tmp_path).list_deciding_files(COMMAND)


def test_a_missing_program_is_reported_with_its_installation(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        tools(tmp_path, "install it: https://compiler.test").describe((("none-such", "-v"),))
    assert caught.value.first.code == "runtime/tool-missing"
    assert "`none-such`, not found on PATH" in caught.value.first.message
    assert caught.value.first.hint == "install it: https://compiler.test"


def test_a_failing_tool_is_reported_with_its_output(tmp_path: Path) -> None:
    tool(tmp_path, "echo no license >&2; exit 2")
    with pytest.raises(FabricError) as caught:
        tools(tmp_path).describe(COMMAND)
    assert caught.value.first.code == "runtime/tool-failed"
    assert caught.value.first.frame == "no license"
