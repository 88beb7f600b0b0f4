"""Commands of a config: their recorded inputs, their environment and their failures."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.task_inputs import BeforeInputs, HookInputs
from fabric.runtimes.commands.before import (
    build_hook_variables,
    list_unmatched,
    record_inputs,
    run_command,
    run_step,
)
from fabric.runtimes.contract import BuiltFile
from tests.support.runtimes_project import write

STEP = BeforeInputs("shop", "gen", "api", "before-build", ("true",))
TREE = {
    "api/src/a.ts": "",
    "api/src/a.test.ts": "",
    "api/dist/a.js": "",
    "api/.fabricignore": "docs\n",
    "api/docs/x.md": "",
    "shared/one.json": "",
    "shared/two.json": "",
    "package-lock.json": "{}",
}
PATH = {"PATH": "/usr/bin:/bin"}


def sh(text: str, outputs: tuple[str, ...] = ()) -> BeforeInputs:
    return replace(STEP, command=("sh", "-c", text), inputs=("src/**",), outputs=outputs)


@pytest.mark.parametrize(
    ("inputs", "ignore", "found"),
    [
        (("src/**", "!src/*.test.ts"), (), {"api/src/a.ts"}),
        (("./src/a.ts",), (), {"api/src/a.ts"}),
        (("../shared/*", "!../shared/two.json"), (), {"shared/one.json"}),
        (("**",), ("/dist/**",), {"api/src/a.ts", "api/src/a.test.ts", "api/docs/x.md"}),
        ((), ("/dist/**", "*.test.ts"), {"api/src/a.ts"}),
    ],
)
def test_inputs_are_the_matching_files(
    inputs: tuple[str, ...], ignore: tuple[str, ...], found: set[str], tmp_path: Path
) -> None:
    write(tmp_path, TREE)
    seen = record_inputs(tmp_path, replace(STEP, inputs=inputs, ignore=ignore))
    plain = {one for one in seen.files if not one.endswith((".fabricignore", "package-lock.json"))}
    assert plain == found
    assert "package-lock.json" in seen.files
    assert seen.listings


@pytest.mark.parametrize(
    ("command", "inputs", "ignore", "counts"),
    [
        (("./gen.sh",), ("src/**",), (), True),
        (("sh", "gen.sh"), ("src/**",), (), True),
        (("sh", "gen.sh"), ("src/**", "!gen.sh"), (), False),
        (("touch", "gen.sh"), ("src/**",), ("/gen.sh",), False),
        (("sh", "-c", "./gen.sh; true"), ("src/**",), (), False),
        (("cat", "../api/gen.sh", "/etc/hostname", "*", "src"), ("src/**",), (), False),
    ],
)
def test_a_file_that_the_command_names_is_an_input(
    command: tuple[str, ...],
    inputs: tuple[str, ...],
    ignore: tuple[str, ...],
    counts: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    write(tmp_path, {**TREE, "api/gen.sh": "true"})
    step = replace(STEP, command=command, inputs=inputs, ignore=ignore)
    seen = record_inputs(tmp_path, step)
    assert ("api/gen.sh" in seen.files) is counts
    assert "/etc/hostname" not in seen.files


def test_inputs_without_a_match_are_listed(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    inputs = ("src/**", "scr/**", "../shared/*", "../shard/*", "!none")
    step = replace(STEP, inputs=inputs)
    found = list_unmatched(tmp_path, step, record_inputs(tmp_path, step))
    assert found == ("scr/**", "../shard/*")


def test_outputs_of_all_patterns_are_collected_once(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    step = sh("mkdir -p out; echo 1 > out/a; cp /bin/true out/b", ("out", "out/*"))
    done = run_step(tmp_path, step, PATH, (), print)
    assert [(one.path, one.executable) for one in done.files] == [("out/a", False), ("out/b", True)]


def test_files_of_builds_are_given_in_a_private_directory(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    step = sh("cp $FABRIC_INPUT_DIR/one/index.js out.txt", ("out.txt",))
    done = run_step(tmp_path, step, PATH, (BuiltFile("one/index.js", b"built"),), print)
    assert done.files == (BuiltFile("out.txt", b"built"),)


def test_outputs_behind_a_link_to_elsewhere_are_rejected(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    step = sh("ln -s ../../shared/one.json src/link", ("src/link",))
    with pytest.raises(FabricError, match="through a link to a path outside"):
        run_step(tmp_path, step, PATH, (), print)


@pytest.mark.parametrize(
    ("command", "timeout", "message"),
    [
        ("exit 3", 60, "exited with code 3"),
        ("sleep 60", 1, "did not end within 1 s"),
    ],
)
def test_a_failure_names_the_step(command: str, timeout: int, message: str, tmp_path: Path) -> None:
    step = replace(sh(command), timeout=timeout)
    with pytest.raises(FabricError, match=f"^step `gen` of `shop`: .* {message}"):
        run_command(step, tmp_path, tmp_path, PATH)


def test_a_missing_program_is_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="^step `gen` of `shop`: cannot start `nothing-like-it`"):
        run_command(replace(STEP, command=("nothing-like-it",)), tmp_path, tmp_path, PATH)


def test_a_failure_shows_the_last_lines_of_both_streams(tmp_path: Path) -> None:
    step = sh("echo warning >&2; seq 30; echo TOKEN=hush; exit 1")
    with pytest.raises(FabricError) as caught:
        run_command(step, tmp_path, tmp_path, PATH)
    numbers = map(str, range(12, 31))
    assert caught.value.first.frame.splitlines() == [
        "… 11 earlier lines", *numbers, "TOKEN=[REDACTED]", "warning",
    ]  # fmt: skip
    assert "hush" not in str(caught.value)


def test_a_failure_shows_the_quoted_command(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="the command `sh -c 'exit 3'` exited"):
        run_command(sh("exit 3"), tmp_path, tmp_path, PATH)


def test_a_failure_hides_credentials_of_the_command(tmp_path: Path) -> None:
    step = replace(STEP, command=("sh", "-c", "exit 3", "--token=hush"))
    with pytest.raises(FabricError, match=r"--token=\[REDACTED\]` exited with code 3"):
        run_command(step, tmp_path, tmp_path, PATH)


def test_the_output_of_a_successful_step_is_reported(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    said: list[str] = []
    run_step(tmp_path, sh("printf %0301d 0; echo err >&2"), PATH, (), said.append)
    assert said == [f"{'0' * 300}…\nerr"]


def test_given_files_are_executable_if_the_built_ones_are(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    step = sh("$FABRIC_INPUT_DIR/one/run.sh; test ! -x $FABRIC_INPUT_DIR/one/data")
    given = (
        BuiltFile("one/run.sh", b"#!/bin/sh\necho ran\n", executable=True),
        BuiltFile("one/data", b""),
    )
    said: list[str] = []
    run_step(tmp_path, step, PATH, given, said.append)
    assert said == ["ran"]


def test_hooks_of_deploys_have_the_variables_of_the_caller() -> None:
    hook = HookInputs("shop", "tell", ".", "after-deploy", ("a",), "spare", "prod", "real")
    assert build_hook_variables({"TOKEN": "x"}, hook, (("FABRIC_ENDPOINT", "u"),)) == {
        "TOKEN": "x",
        "FABRIC_SERVICE": "shop",
        "FABRIC_STAGE": "prod",
        "FABRIC_PROVIDER": "spare",
        "FABRIC_MODE": "real",
        "FABRIC_ENDPOINT": "u",
    }
