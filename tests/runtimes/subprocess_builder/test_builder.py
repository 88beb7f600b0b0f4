"""Builds in another process give what builds here give; a process that is lost loses nothing."""

import contextlib
import io
import os
import random
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Builder, Built, InputTrace, Toolchain
from fabric.runtimes.subprocess_builder.builder import ManyInterpreters, Spreading
from fabric.runtimes.subprocess_builder.child import (
    BuildAnswer,
    BuildChild,
    BuildQuestion,
    LostChildError,
    encode_message,
    read_message,
)
from fabric.runtimes.subprocess_builder.program import serve_builds
from tests.support.python_edits import INPUTS, edit, source
from tests.support.runtimes_project import python, write
from tests.support.until import is_alive, until

EDITS = 70
ENVIRONMENT = {"PATH": os.defpath}
SOURCE = {"api/src/hello.py": "import json\n\nhandler = json.dumps\n"}
RUNTIMES = Runtimes(Path("no-tools"), {}, install=False)
MAX_PARALLEL = Spreading(1, ENVIRONMENT, all_seconds=0, each_seconds=0)
BROKEN = ("def f(:", "# coding: nonsense\n", "x = '\\0'", "print 'two'")


class HeldBuilder:
    """Builds the function `held` only once it may: until then this interpreter is building."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.built: list[str] = []

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        self.built.append(inputs.function)
        if inputs.function == "held":
            self.begun.set()
            self.may_end.wait()
        return self._builder.build(workspace, inputs)

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain:
        return self._builder.toolchain(workspace, inputs)

    def entry(self, workspace: Path, inputs: BuildInputs) -> str:
        return self._builder.entry(workspace, inputs)

    def record_inputs(self, workspace: Path, inputs: BuildInputs) -> InputTrace:
        return self._builder.record_inputs(workspace, inputs)


@contextlib.contextmanager
def busy(workspace: Path, spreading: Spreading) -> Iterator[tuple[ManyInterpreters, HeldBuilder]]:
    """A builder while this interpreter is building something else."""
    here = HeldBuilder(RUNTIMES)
    with (
        contextlib.closing(ManyInterpreters(here, spreading)) as builder,
        ThreadPoolExecutor(1) as pool,
    ):
        pool.submit(builder.build, workspace, replace(INPUTS, function="held"))
        here.begun.wait()
        try:
            yield builder, here
        finally:
            here.may_end.set()


def result(build: Builder | BuildChild, workspace: Path, inputs: BuildInputs) -> object:
    """What was built, or all that is said of why not."""
    if isinstance(build, BuildChild):
        answer = build.answer(workspace, inputs)
        return answer.built or answer.problems
    try:
        return build.build(workspace, inputs)
    except FabricError as error:
        return error.problems


def rough_edit(workspace: Path, dice: random.Random) -> None:
    """As people leave it: links, sources that cannot be parsed, folders where files are wanted."""
    edit(workspace, dice)
    place = workspace / "api" / "pkg" / f"{dice.choice('ab')}.py"
    match dice.randrange(12):
        case 0:
            write(workspace, {f"api/{dice.choice('ab')}.py": dice.choice(BROKEN)})
        case 1 if not place.exists() and not place.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(dice.choice(("../a.py", "../../libs/shared/b.py", "nowhere")))
        case 2 if place.is_symlink():
            place.unlink()
        case 3:
            (workspace / "api" / "b").mkdir(exist_ok=True)


@pytest.mark.parametrize("seed", range(8))
def test_a_build_elsewhere_equals_the_build_here(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    write(tmp_path, {"api/src/hello.py": source(dice)})
    kinds = set()
    with contextlib.closing(BuildChild(ENVIRONMENT)) as child:
        for _ in range(EDITS):
            rough_edit(tmp_path, dice)
            inputs = INPUTS if dice.random() < 0.5 else replace(INPUTS, include=())
            here = result(RUNTIMES, tmp_path, inputs)
            assert result(child, tmp_path, inputs) == here
            kinds.add(type(here))
    assert Built in kinds


def test_concurrent_build_runs_in_a_child_process(tmp_path: Path) -> None:
    write(tmp_path, SOURCE)
    with busy(tmp_path, MAX_PARALLEL) as (builder, here):
        built = builder.build(tmp_path, INPUTS)
        assert here.built == ["held"]
        [pid] = builder.pids
        assert is_alive(pid)
    assert built == RUNTIMES.build(tmp_path, INPUTS)
    assert not is_alive(pid)
    assert builder.problem is None


@pytest.mark.parametrize("text", BROKEN)
def test_an_error_elsewhere_is_the_error_here(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"api/src/hello.py": text})
    with busy(tmp_path, MAX_PARALLEL) as (builder, here):
        elsewhere = result(builder, tmp_path, INPUTS)
        assert here.built == ["held"]
    assert elsewhere == result(RUNTIMES, tmp_path, INPUTS)


def test_non_unicode_names_are_built_in_process(tmp_path: Path) -> None:
    write(tmp_path, {**SOURCE, "api/data/a": ""})
    (tmp_path / "api/data/a").rename(tmp_path / "api/data" / os.fsdecode(b"\xff"))
    inputs = replace(INPUTS, include=("data/**",))
    with busy(tmp_path, MAX_PARALLEL) as (builder, _):
        assert result(builder, tmp_path, inputs) == result(RUNTIMES, tmp_path, inputs)


def test_a_child_that_is_killed_costs_its_function_one_more_try(tmp_path: Path) -> None:
    write(tmp_path, SOURCE)
    with busy(tmp_path, MAX_PARALLEL) as (builder, here), ThreadPoolExecutor(1) as pool:
        builder.build(tmp_path, INPUTS)
        [pid] = builder.pids
        os.kill(pid, signal.SIGSTOP)
        asked = pool.submit(builder.build, tmp_path, INPUTS)
        os.kill(pid, signal.SIGKILL)
        assert asked.result() == RUNTIMES.build(tmp_path, INPUTS)
        assert here.built == ["held", "hello"]
        builder.build(tmp_path, INPUTS)
        assert here.built == ["held", "hello", "hello"], "no other child was started"
    assert builder.lost == 1
    assert builder.problem is not None
    assert builder.problem.code == "build/child-lost"


def test_a_child_that_cannot_start_is_lost(tmp_path: Path) -> None:
    write(tmp_path, SOURCE)
    nowhere = {**ENVIRONMENT, "PYTHONHOME": "/nowhere"}
    with contextlib.closing(BuildChild(nowhere)) as child, pytest.raises(LostChildError):
        child.answer(tmp_path, INPUTS)
    until(lambda: not is_alive(child.pid))


@pytest.mark.parametrize(
    "spreading",
    [
        Spreading(0, ENVIRONMENT, all_seconds=0, each_seconds=0),
        Spreading(1, ENVIRONMENT),
        Spreading(1, ENVIRONMENT, all_seconds=0, each_seconds=60),
    ],
    ids=["one core", "little work", "short builds"],
)
def test_no_child_is_started_if_builds_are_fast(spreading: Spreading, tmp_path: Path) -> None:
    write(tmp_path, SOURCE)
    here = HeldBuilder(RUNTIMES)
    with contextlib.closing(ManyInterpreters(here, spreading)) as builder:
        builder.build(tmp_path, INPUTS)  # from now on a build is known to take no minute
        with ThreadPoolExecutor(1) as pool:
            pool.submit(builder.build, tmp_path, replace(INPUTS, function="held"))
            here.begun.wait()
            builder.build(tmp_path, INPUTS)
            here.may_end.set()
        assert here.built == ["hello", "held", "hello"]
        assert builder.pids == ()


def test_single_thread_starts_no_child(tmp_path: Path) -> None:
    write(tmp_path, SOURCE)
    with contextlib.closing(ManyInterpreters(RUNTIMES, MAX_PARALLEL)) as builder:
        for _ in range(3):
            builder.build(tmp_path, INPUTS)
        assert builder.pids == ()


def test_commands_stay_here(tmp_path: Path) -> None:
    write(tmp_path, SOURCE)
    with busy(tmp_path, MAX_PARALLEL) as (builder, here):
        result(builder, tmp_path, python(command=("true",)))
        assert here.built == ["held", "hello"]
        assert builder.pids == ()


def test_a_missing_tool_of_a_command_is_another_toolchain(tmp_path: Path) -> None:
    """Another machine can have it: the build fails only there."""
    asked = python(command=("make",), tools=(("no-such-compiler", "--version"),))
    question = encode_message(BuildQuestion(str(tmp_path), asked, "compiler 1.2"))
    answers = io.BytesIO()
    serve_builds(io.BytesIO(question), answers, lambda _: RUNTIMES)
    answer = read_message(io.BytesIO(answers.getvalue()), BuildAnswer)
    assert answer == BuildAnswer(other_toolchain="no tools for it")


def test_the_child_is_given_no_secret(tmp_path: Path) -> None:
    write(tmp_path, SOURCE)
    spreading = replace(MAX_PARALLEL, environment={**ENVIRONMENT, "API_TOKEN": "hunter2"})
    with busy(tmp_path, spreading) as (builder, _):
        builder.build(tmp_path, INPUTS)
        [pid] = builder.pids
        assert b"hunter2" not in Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize(
    "said",
    [b"", b"\0", b"a module printed this", encode_message(BuildAnswer())[:-1]],
    ids=["nothing", "half a length", "somebody's words", "half an answer"],
)
def test_incomplete_message_reads_as_none(said: bytes) -> None:
    assert read_message(io.BytesIO(said), BuildAnswer) is None
