"""Outputs in a directory of the user: restored exactly, and edits are found before."""

import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.engine.bus import Bus
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.run import Job, Run
from fabric.engine.schedule import Caps
from fabric.engine.step_outputs import (
    find_edits,
    is_restored,
    lock_outputs,
    refuse_changed_outputs,
    restore_outputs,
)
from fabric.engine.task_runner import TaskRunner
from fabric.graph.build_graph import build_graph
from fabric.graph.decide import Action, Decision
from fabric.graph.traces import Trace
from fabric.model.hashing import hash_bytes
from fabric.model.names import Digest
from fabric.model.problems import FabricError
from fabric.model.task import Output, OutputFile, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BeforeInputs, BuildInputs
from fabric.tasks.before import BeforeKind
from tests.support.fakes import Bench, late_stamp
from tests.support.seals import sealed

NAMES = ("gen/a", "gen/b", "other")
# Contents of a directory by path; the step wrote small letters only.
FILES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from("abcXY"))
RESULTS = st.lists(
    st.dictionaries(st.sampled_from(NAMES[:2]), st.sampled_from("abc"), min_size=1), min_size=1
)


def step(command: str = "true", root: str = ".") -> Task:
    words = ("sh", "-c", command)
    inputs = BeforeInputs("shop", "gen", root, "before-build", words, ("in",), ("gen/**",))
    return Task(TaskId("before:shop/gen"), inputs)


def index(root: Path) -> FileIndex:
    return FileIndex(root, sealed(root / ".fabric" / "f"), now_ns=late_stamp(""), stamp=late_stamp)


def output_of(files: dict[str, str]) -> Output:
    rows = ((path, text.encode()) for path, text in sorted(files.items()))
    return Output(
        Digest("o"), tuple(OutputFile(path, hash_bytes(text), len(text)) for path, text in rows)
    )


def trace_of(files: dict[str, str]) -> Trace:
    return Trace(
        static=Digest(""),
        entries=(),
        files=(),
        absent=(),
        listings=(),
        upstream=(),
        links=(),
        key=Digest(""),
        output=output_of(files),
        ms=0,
    )


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def read(root: Path) -> dict[str, str]:
    paths = (root / name for name in NAMES)
    return {str(one.relative_to(root)): one.read_text() for one in paths if one.exists()}


@given(FILES, RESULTS)
def test_a_restore_gives_the_exact_outputs_and_edits_are_found(
    there: dict[str, str], results: list[dict[str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, there)
        wanted, traces = results[0], [trace_of(one) for one in results]
        contents = {str(hash_bytes(one.encode())): one.encode() for one in "abc"}
        known = {(path, text) for one in results for path, text in one.items()}
        edited = {path for path in wanted if path in there and (path, there[path]) not in known}
        if edited:
            edits = find_edits(step(), output_of(wanted), traces, index(root))
            assert edits is not None
            assert edits.where
            assert edits.where.file in edited
            return
        assert find_edits(step(), output_of(wanted), traces, index(root)) is None
        restore_outputs(step(), output_of(wanted), contents, traces, index(root))
        kept = {path: text for path, text in there.items() if (path, text) not in known}
        assert read(root) == {**kept, **wanted}
        assert is_restored(step(), output_of(wanted), traces, index(root))


def test_files_that_the_outputs_no_longer_name_are_kept(tmp_path: Path) -> None:
    write(tmp_path, {"gen/a": "a", "other": "b"})
    traces = [trace_of({"gen/a": "a"}), trace_of({"gen/a": "a", "other": "b"})]
    contents = {str(hash_bytes(b"a")): b"a"}
    restore_outputs(step(), output_of({"gen/a": "a"}), contents, traces, index(tmp_path))
    assert read(tmp_path) == {"gen/a": "a", "other": "b"}


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    service = tmp_path / "service"
    service.mkdir()
    (service / "gen").symlink_to(tmp_path / "elsewhere")
    task = step(root="service")
    contents = {str(hash_bytes(b"a")): b"a"}
    with pytest.raises(FabricError, match="through a link"):
        restore_outputs(task, output_of({"gen/a": "a"}), contents, (), index(tmp_path))
    assert not list((tmp_path / "elsewhere").iterdir())


class Steps:
    """A workspace whose only task is a step."""

    def __init__(self, root: Path, command: str) -> None:
        self.root = root
        self.bench = Bench(root)
        self.task = step(command)

    def runner(self, kind: BeforeKind) -> TaskRunner:
        return TaskRunner(self.bench.stores(), {"before": kind}, self.bench.clock)

    def run(self) -> Outcome:
        kind = BeforeKind(self.root, {"PATH": "/usr/bin:/bin"})
        job = Job(build_graph([self.task]), Caps(1, 1), (1.0,))
        runner = self.runner(kind)
        result: RunResult = Run(job, runner, Bus("", self.bench.clock, []), self.bench.clock).go()
        runner.contents._trace_store.flush()  # noqa: SLF001 - as a session does at its end
        return result.outcomes[0]

    def is_unrestored(self, output: Output) -> bool:
        runner = self.runner(BeforeKind(self.root, {}))
        return runner.is_unrestored(self.task, Decision(Action.SKIP, "", known=output))


def test_a_step_is_cached_and_its_outputs_restored(tmp_path: Path) -> None:
    steps = Steps(tmp_path, "mkdir -p gen; cp in gen/a; echo ran >> log")
    (tmp_path / "in").write_text("a")
    first = steps.run()
    assert (first.status, first.reason) == (Status.RAN, "first run")
    assert first.output
    assert not steps.is_unrestored(first.output)
    (tmp_path / "gen/a").unlink()
    assert steps.is_unrestored(first.output)
    assert steps.run().status is Status.SKIPPED
    assert read(tmp_path) == {"gen/a": "a"}
    (tmp_path / "gen/a").write_text("edit")
    again = steps.run()
    assert [one.code for one in again.warnings] == ["step/edited-output"]
    assert read(tmp_path) == {"gen/a": "a"}
    assert (tmp_path / "log").read_text() == "ran\nran\n"


def test_a_step_that_changes_its_inputs_is_not_cached(tmp_path: Path) -> None:
    steps = Steps(tmp_path, "mkdir -p gen; cp in gen/a; echo more >> in")
    (tmp_path / "in").write_text("a")
    [warning] = steps.run().warnings
    assert warning.code == "build/input-moved"
    assert warning.hint == "add files that the task writes to its `outputs`"
    assert steps.run().status is Status.RAN


def test_a_build_is_rejected_if_an_output_of_its_step_changed_meanwhile(tmp_path: Path) -> None:
    write(tmp_path, {"gen/a": "a"})
    build = Task(
        TaskId("build:shop/one"), BuildInputs("shop", "one", ".", "one.handler", "python3.11")
    )
    upstream = [(step(), output_of({"gen/a": "a"}))]
    refuse_changed_outputs(build, upstream, index(tmp_path))
    for there in ({"gen/a": "b"}, {}):
        (tmp_path / "gen/a").unlink()
        write(tmp_path, there)
        with pytest.raises(FabricError, match="gen/a changed after before:shop/gen wrote it"):
            refuse_changed_outputs(build, upstream, index(tmp_path))
        write(tmp_path, {"gen/a": "a"})


def test_runs_take_turns_at_the_outputs_of_a_service(tmp_path: Path) -> None:
    began, got = threading.Event(), threading.Event()
    files = index(tmp_path)

    def wait() -> None:
        began.set()
        with lock_outputs(step(), files):
            got.set()

    waiter = threading.Thread(target=wait)
    with lock_outputs(step(), files):
        waiter.start()
        began.wait()
        assert not got.wait(0.05)
    assert got.wait(10)
    waiter.join()
