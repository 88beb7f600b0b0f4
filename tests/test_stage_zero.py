"""Stage 0 and the warm start against the long way, over seeded random edits of a real folder."""

import os
import random
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric import manifest, stage_zero
from fabric.engine.result import RunResult
from fabric.engine.run import Job
from fabric.engine.schedule import Caps
from fabric.engine.shortcuts import last_run as packed
from fabric.engine.shortcuts.answers import (
    AnswerChange,
    AskedCommand,
    StoredAnswer,
    basis_of,
    prefix_of,
    renew_answer,
    store_answer,
    traces_of,
)
from fabric.graph.build_graph import build_graph
from fabric.model.names import TaskId
from fabric.model.task import Output, Task
from fabric.system.clock import SystemClock, file_time_ns
from fabric.tasks.contract import Made, TaskTools
from tests.support.fakes import Bench, JoinInputs, JoinKind, join

ARGV = ("build",)
ENV = {"HOME": "/nowhere"}
GIVEN = StoredAnswer(0, "nothing to do\n", "")
NAMES = ("a", "b", "c", "d")
TASKS = (
    join("one", "a", "b"),
    join("two", "b", "c"),
    join("three", "d"),
    join("low", needs=("one", "two")),
    join("all", needs=("low", "three")),
)
EDITS_A_CASE = 60


@pytest.fixture(autouse=True)
def in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage 0 names paths as they are seen from the working folder."""
    monkeypatch.chdir(tmp_path)


class Folder:
    """A project that is edited at random, built by the long way or from a warm start."""

    def __init__(self, root: Path, seed: int) -> None:
        self.bench = Bench(root, clock=SystemClock(), stamp=file_time_ns)
        self.chance = random.Random(seed)
        self.root = root
        self.answers = str(root / ".fabric" / "cache" / manifest.FOLDER)
        for name in NAMES:
            (root / name).write_text(f"{name}0 ")

    def edit(self) -> None:
        """One edit, then a tick of the clock: what is saved in the tick of a run is suspect."""
        self.chance.choice(
            [self._rewrite, self._same_size_same_time, self._comment, self._touch, self._nothing,
             self._tamper, self._remove_output, self._replace, self._stranger]
        )()  # fmt: skip
        time.sleep(0.025)

    def _source(self) -> Path:
        return self.root / self.chance.choice(NAMES)

    def _rewrite(self) -> None:
        self._source().write_text(f"{self.chance.randint(0, 5)} ")

    def _same_size_same_time(self) -> None:
        path = self._source()
        found = path.stat()
        text = path.read_text()
        path.write_text(("x" if text[:1] != "x" else "y") + text[1:])
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    def _comment(self) -> None:
        path = self._source()
        path.write_text(path.read_text() + "#")

    def _touch(self) -> None:
        self._source().touch()

    def _nothing(self) -> None:
        return

    def _output(self) -> Path:
        return self.root / "out" / f"{self.chance.choice(['one', 'low', 'all'])}.txt"

    def _tamper(self) -> None:
        if self._output().exists():
            self._output().write_text("tampered")

    def _remove_output(self) -> None:
        self._output().unlink(missing_ok=True)

    def _replace(self) -> None:
        """Another file of the same length and time, moved into place."""
        path = self._source()
        other = self.root / ".moved"
        other.write_text("z" * len(path.read_text()))
        found = path.stat()
        os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
        other.rename(path)

    def _stranger(self) -> None:
        (self.root / "stranger").write_text(str(self.chance.random()))

    def ask(self) -> bool:
        return stage_zero.stored(ARGV, str(self.root), ENV) is not None

    def asked(self) -> AskedCommand:
        return AskedCommand(ARGV, str(self.root), frozenset(), ENV)

    def build_whole(self) -> RunResult:
        graph = build_graph(TASKS)
        stores = self.bench.stores()
        job = Job(graph, Caps(2, 2), (1.0,) * len(graph))
        result = self.bench.run_job(job, stores)
        pairs = traces_of(result)
        if pairs is None:
            return result
        files = stores.files
        salt = store_answer(self.answers, self.asked(), basis_of(pairs, ()), files, GIVEN)
        if salt is not None:
            info = packed.ProjectInfo(str(self.root), "dev")
            prefix = prefix_of(files, str(self.root))
            kept = packed.last_run_of(salt, info, result, stores.trace_store.traces, prefix)
            packed.save_last_run(self.answers, ARGV, str(self.root), kept)
        return result

    def build_warm(self) -> bool:
        """Whether there was something to start from; then only what was reached has run."""
        sight = stage_zero.last
        if sight is None:
            return False
        warm = packed.load_last_run(self.answers, ARGV, str(self.root), sight.salt)
        dirty = warm.dirty(manifest.moved(sight.paths, sight.before, sight.now)) if warm else None
        if warm is None or dirty is None:
            return False
        part = packed.reached(warm, dirty, {"join": JoinInputs})
        stores = self.bench.stores()
        job = Job(part.graph, Caps(2, 2), (1.0,) * len(part.graph), part.known)
        result = self.bench.run_job(job, stores)
        self._renew(sight, warm, part, result, stores.files)
        return True

    def _renew(self, sight, warm, part, result, files) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        pairs = traces_of(result)
        if pairs is None:
            return
        wave = {n for place, n in enumerate(part.numbers) if place not in part.known}
        dropped = frozenset(p for p, owners in warm.owners.items() if wave.issuperset(owners))
        ran = [pair for place, pair in enumerate(pairs) if place not in part.known]
        change = AnswerChange(basis_of(ran, ()), dropped)
        salt = renew_answer(sight, self.asked(), change, files, GIVEN)
        if salt is not None:
            prefix = prefix_of(files, str(self.root))
            again = packed.renewed_run(warm, salt, part, result, prefix)
            packed.save_last_run(self.answers, ARGV, str(self.root), again)

    def wanted(self) -> dict[str, str]:
        """What a clean build would show, by the definition of the tasks."""
        texts: dict[str, str] = {}
        for task in TASKS:
            texts[task.id] = "".join(self._parts(task, texts))
        return {task_id.partition(":")[2]: text for task_id, text in texts.items()}

    def _parts(self, task: Task, texts: dict[str, str]) -> list[str]:
        assert isinstance(task.inputs, JoinInputs)
        own = [(self.root / name).read_text() for name in task.inputs.sources]
        # Upstream in the order of the graph, as the engine hands it over.
        return [one.partition("#")[0] for one in (*own, *(texts[need] for need in task.needs))]

    def shown(self) -> dict[str, str]:
        return {path.stem: path.read_text() for path in (self.root / "out").glob("*.txt")}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_stored_answer_and_the_warm_start_agree_with_a_clean_build(
    tmp_path: Path, seed: int
) -> None:
    folder = Folder(tmp_path, seed)
    time.sleep(0.025)
    folder.build_whole()
    answered = warm = 0
    for _ in range(EDITS_A_CASE):
        folder.edit()
        if folder.ask():
            answered += 1
        elif folder.build_warm():
            warm += 1
        else:
            folder.build_whole()
        assert folder.shown() == folder.wanted()
    assert answered > 3, "the stored answer was hardly ever given"
    assert warm > 10, "a warm start was hardly ever possible"


def test_a_run_from_a_warm_start_runs_only_what_the_edit_reaches(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 0)
    time.sleep(0.025)
    folder.build_whole()
    (tmp_path / "d").write_text("new ")
    time.sleep(0.025)
    assert not folder.ask()
    folder.bench.kind.ran.clear()
    assert folder.build_warm()
    assert folder.bench.kind.ran == ["join:three", "join:all"]
    assert folder.ask()


def test_the_answer_is_for_one_command_line_and_environment_only(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 0)
    time.sleep(0.025)
    folder.build_whole()
    cwd = str(tmp_path)
    assert stage_zero.stored(ARGV, cwd, ENV) == (0, "nothing to do\n", "")
    assert stage_zero.stored((*ARGV, "--json"), cwd, ENV) is None
    assert stage_zero.stored(ARGV, cwd, {**ENV, "FABRIC_STAGE": "prod"}) is None
    assert stage_zero.stored(ARGV, cwd, {**ENV, "NO_COLOR": "1"}) is None
    assert stage_zero.stored(ARGV, cwd, {**ENV, "UNRELATED": "1"}) is not None


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x00" * 500, b"i\x01\x00\x00\x00"])
def test_a_damaged_manifest_is_no_answer(tmp_path: Path, content: bytes) -> None:
    folder = Folder(tmp_path, 0)
    time.sleep(0.025)
    folder.build_whole()
    path = Path(folder.answers) / manifest.file_name(ARGV, str(tmp_path))
    path.write_bytes(content)
    assert stage_zero.stored(ARGV, str(tmp_path), ENV) is None


class SavingKind(JoinKind):
    """An editor saves a source, as it was, while the task reads it."""

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> Made:
        made = super().run(task, upstream, shop)
        for name in made.read:
            (shop.workspace / name).write_text((shop.workspace / name).read_text())
        return made


def test_a_file_that_moved_during_a_run_leaves_no_answer(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 0)
    folder.bench.kind = SavingKind()
    assert folder.build_whole().ok
    assert not folder.ask()
    assert folder.bench.stores().trace_store.traces(TaskId("join:one")) == ()


def test_many_paths_are_looked_at_by_two_processes_with_the_same_answer(tmp_path: Path) -> None:
    paths = [f"f{number}" for number in range(manifest.FORK_FROM)]
    for path in paths:
        (tmp_path / path).touch()
    half = len(paths) // 2
    full = [f"{tmp_path}/{path}" for path in paths]
    halves = [
        (manifest.joined(part), manifest.stats_of(part)) for part in (full[:half], full[half:])
    ]
    head = (b"s", manifest.header(b"s", ARGV, str(tmp_path), (), ENV), ())
    store = (
        tmp_path / ".fabric" / "cache" / manifest.FOLDER / manifest.file_name(ARGV, str(tmp_path))
    )
    store.parent.mkdir(parents=True)
    store.write_bytes(manifest.pack(head, halves, (b"", (b"", b"")), (0, "yes", "")))
    assert stage_zero.stored(ARGV, str(tmp_path), ENV) == (0, "yes", "")
    for position in (0, half - 1, half, len(paths) - 1):
        (tmp_path / paths[position]).write_text("changed")
        assert stage_zero.stored(ARGV, str(tmp_path), ENV) is None
        assert stage_zero.last is not None
        moved = manifest.moved(stage_zero.last.paths, stage_zero.last.before, stage_zero.last.now)
        assert full[position] in moved
