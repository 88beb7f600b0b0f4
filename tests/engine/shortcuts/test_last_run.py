"""A packed task comes back as it was: a key must not change because a run was remembered."""

import marshal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric import manifest
from fabric.engine.memory.pieces import SUFFIX, DamagedPieceError
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.shortcuts.last_run import (
    FinishedRun,
    LastRun,
    complete_result,
    find_reached_tasks,
    pack_finished_run,
    pack_record,
    update_packed_run,
    with_outcomes,
)
from fabric.engine.shortcuts.last_run_file import (
    LastRunFiles,
    load_last_run,
    save_last_run,
    save_renewed_run,
)
from fabric.engine.shortcuts.packing import pack_info, unpack_info
from fabric.graph.build_graph import build_graph
from fabric.graph.traces import Trace, compute_static_hash
from fabric.model.names import Digest
from fabric.model.problems import Place, Problem
from fabric.model.project_info import ProjectInfo
from fabric.model.task import Output, Task, TaskInputs
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import INPUTS_BY_KIND, BuildInputs, PackageInputs, VendorInputs
from tests.support.plans import build
from tests.support.seals import SEAL

BUILD = BuildInputs(
    "shop", "hello", ".", "src/a.ts", "nodejs20.x", include=("a/*", "b"), ignore=("c",),
    command=("make", "all"), env=(("LEVEL", "info"),), sourcemap=True,
)  # fmt: skip
INPUTS: tuple[TaskInputs, ...] = (
    BUILD,
    PackageInputs("shop", "hello", "."),
    VendorInputs("shop", ".", "idna==3.7\n", "3.12", "x86_64"),
)


def trace_of(inputs: TaskInputs) -> Trace:
    entries = inputs.entries()
    output = Output(Digest("d"), (), (("handler", "a.b"),))
    static = compute_static_hash(inputs.kind, entries)
    files, links = (("f", "1"),), (("l", "m"),)
    return Trace(static, entries, files, ("g",), (), (), links, Digest("k"), output, 3)


ARGV = ("build",)
INFO = ProjectInfo("/w", "dev")
GRAPH = build_graph([Task(TaskId(f"{one.kind}:x"), one) for one in INPUTS])
TRACES = [trace_of(task.inputs) for task in GRAPH.tasks]


def result_of(traces: Sequence[Trace]) -> RunResult:
    return RunResult(
        GRAPH, [Outcome(Status.RAN, output=one.output, trace=one) for one in traces], 0
    )


def files_at(folder: Path, cwd: str = "/w") -> LastRunFiles:
    return LastRunFiles(str(folder), ARGV, cwd, SEAL)


def kept(folder: Path, salt: bytes = b"salt of 16 bytes") -> LastRun:
    run = pack_finished_run(salt, INFO, result_of(TRACES), lambda _: (), "")
    save_last_run(files_at(folder), run)
    found = load_last_run(files_at(folder), salt)
    assert found
    return found


def renewed(folder: Path, last: LastRun, salt: bytes, trace: Trace) -> LastRun | None:
    """The run after another one of its first task alone."""
    part = find_reached_tasks(last, {0}, INPUTS_BY_KIND)
    again = update_packed_run(last, salt, part, result_of([trace, *TRACES[1:]]), "")
    save_renewed_run(files_at(folder), again)
    return load_last_run(files_at(folder), salt)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def test_tasks_and_traces_survive_packing(tmp_path: Path) -> None:
    warm = kept(tmp_path)
    for number, task in enumerate(GRAPH.tasks):
        assert warm.task(number, INPUTS_BY_KIND) == task
        assert warm.task(number, INPUTS_BY_KIND).inputs.entries() == task.inputs.entries()
        assert warm.trace(number) == TRACES[number]
    assert warm.dirty(["f"]) == {0, 1, 2}
    assert warm.dirty(["f", "of nobody"]) is None


def test_current_inputs_of_a_task_count_and_previous_ones_do_not(tmp_path: Path) -> None:
    other = replace(TRACES[0], files=(("g", "2"),), key=Digest("k2"))
    again = renewed(tmp_path, kept(tmp_path), b"salt of the next", other)
    assert again
    assert [again.trace(number) for number in range(3)] == [other, *TRACES[1:]]
    assert again.record(0).traces[1]["key"] == TRACES[0].key
    assert again.dirty(["f"]) == {1, 2}
    assert again.dirty(["g"]) == {0}
    assert again.dirty(["f", "g"]) == {0, 1, 2}


def test_many_changes_are_written_into_the_large_file(tmp_path: Path) -> None:
    last = kept(tmp_path)
    large = tmp_path / f"{manifest.file_name(ARGV, '/w')}{SUFFIX}"
    before = large.read_bytes()
    long = tuple((f"{number:0200}", "1") for number in range(5000))
    other = replace(TRACES[0], files=long, key=Digest("k2"))
    again = renewed(tmp_path, last, b"salt of the next", other)
    assert again
    assert not again.records
    assert large.read_bytes() != before
    assert [again.trace(number) for number in range(3)] == [other, *TRACES[1:]]
    assert again.dirty(["f"]) == {1, 2}
    assert again.dirty([long[7][0]]) == {0}
    # Who has opened the file of before reads on in that.
    assert last.trace(2) == TRACES[2]


def test_last_run_of_another_answer_is_not_used(tmp_path: Path) -> None:
    kept(tmp_path)
    assert load_last_run(files_at(tmp_path), b"another salt, of") is None
    assert load_last_run(files_at(tmp_path, "/elsewhere"), b"salt of 16 bytes") is None


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("harm", ["cut", "flip", "gone", "empty", "longer", "others may write"])
def test_modified_file_is_not_a_last_run(tmp_path: Path, which: int, harm: str) -> None:
    kept(tmp_path)
    path = files_of(tmp_path)[which]
    content = path.read_bytes()
    match harm:
        case "gone":
            path.unlink()
        case "others may write":
            path.chmod(0o666)
        case "flip":
            middle = len(content) // 2
            flipped = bytes([content[middle] ^ 1])
            path.write_bytes(content[:middle] + flipped + content[middle + 1 :])
        case _:
            other = {"cut": content[:-9], "empty": b"", "longer": content + b"x"}
            path.write_bytes(other[harm])
    found = load_last_run(files_at(tmp_path), b"salt of 16 bytes")
    # The small file is sealed: whoever may write it cannot make another one of it by chance.
    assert found is None or (harm, which) == ("others may write", 1)


def test_large_file_of_another_run_is_rejected(tmp_path: Path) -> None:
    kept(tmp_path)
    small, large = (path.read_bytes() for path in reversed(files_of(tmp_path)))
    del small
    kept(tmp_path, b"salt of another.")
    pieces = next(path for path in files_of(tmp_path) if path.suffix == SUFFIX)
    pieces.write_bytes(large)
    assert load_last_run(files_at(tmp_path), b"salt of another.") is None


def test_damaged_piece_is_reported_once_and_deleted(tmp_path: Path) -> None:
    last = kept(tmp_path)
    path = next(path for path in files_of(tmp_path) if path.suffix == SUFFIX)
    with path.open("r+b") as file:
        file.seek(40)
        file.write(b"\0\0\0\0")
    with pytest.raises(DamagedPieceError):
        last.trace(0)
    assert not path.exists()
    assert last.trace(1) == TRACES[1]


def test_project_info_survives_packing() -> None:
    told = Problem("a/b", "message", "hint", Place("fabric.yml", 3, 4), "frame")
    info = ProjectInfo("/w", "dev", (told, Problem("c/d", "plain")))
    assert unpack_info(marshal.loads(marshal.dumps(pack_info(info)))) == info  # noqa: S302


def test_result_of_a_part_is_completed_with_the_unaffected_tasks(tmp_path: Path) -> None:
    last = kept(tmp_path)
    part = find_reached_tasks(last, {1}, INPUTS_BY_KIND)
    assert (part.ran, part.graph.ids) == ((1,), (GRAPH.ids[1],))
    ran = Outcome(Status.RAN, "a changed", TRACES[1].output, trace=TRACES[1])
    found = complete_result(last, part, RunResult(part.graph, (ran,), 7), INPUTS_BY_KIND)
    assert list(found.graph.tasks) == list(GRAPH.tasks)
    assert list(found.graph.ids) == list(GRAPH.ids)
    assert list(found.graph.needs) == list(GRAPH.needs)
    assert list(found.graph.level_of) == list(GRAPH.level_of)
    assert (found.ms, found.looked_at) == (7, (1,))
    assert [one.status for one in found.outcomes] == [
        Status.SKIPPED,
        Status.RAN,
        Status.SKIPPED,
    ]
    assert found.outcomes[0].trace == TRACES[0]
    other = replace(ran, reason="other")
    assert [one.reason for one in with_outcomes(found.outcomes, {0: other})] == [
        "other",
        "a changed",
        "up to date",
    ]


def test_edit_reaches_dependents_and_their_needs(tmp_path: Path) -> None:
    tasks = [build("a"), build("b", "a"), build("c"), build("d", "b", "c"), build("e", "c")]
    graph = build_graph(tasks)
    traces = [replace(trace_of(one.inputs), key=Digest(one.id)) for one in graph.tasks]
    result = RunResult(
        graph, [Outcome(Status.RAN, output=one.output, trace=one) for one in traces], 0
    )
    salt = b"salt of 16 bytes"
    recall = {graph.ids[0]: (replace(traces[0], key=Digest("older")), traces[0])}
    run = pack_finished_run(salt, INFO, result, lambda one: recall.get(one, ()), "../")
    save_last_run(files_at(tmp_path), run)
    last = load_last_run(files_at(tmp_path), salt)
    assert last is not None
    part = find_reached_tasks(last, {graph.ids.index(TaskId("b"))}, INPUTS_BY_KIND)
    assert set(part.graph.ids) == {"a", "b", "c", "d"}
    assert {graph.ids[one] for one in part.ran} == {"b", "d"}
    assert {part.graph.ids[one] for one in part.known} == {"a", "c"}
    assert [one["key"] for one in last.record(0).traces] == ["a", "older"]
    shown = f"../{graph.tasks[1].inputs.shown_in}"
    assert last.only_of({1}, "../", INPUTS_BY_KIND) == {shown}
    assert last.only_of(set(range(5)), "../", INPUTS_BY_KIND) >= {"../f", shown}


def test_task_without_a_readable_trace_is_damage(tmp_path: Path) -> None:
    last = kept(tmp_path)
    broken = replace(last, records={0: pack_record(replace(last.record(0), traces=[]))}, seen={})
    with pytest.raises(DamagedPieceError):
        broken.trace(0)


def test_task_that_did_not_end_keeps_its_stored_record(tmp_path: Path) -> None:
    last = kept(tmp_path)
    part = find_reached_tasks(last, {0}, INPUTS_BY_KIND)
    failed = replace(result_of(TRACES), outcomes=[Outcome(Status.FAILED)] * 3)
    again = update_packed_run(last, b"salt of the next", part, failed, "")
    assert (again.records, again.owners) == ({}, {})


def test_last_run_that_cannot_be_written_is_not_stored(tmp_path: Path) -> None:
    last = kept(tmp_path)
    gone = files_at(tmp_path / "file")
    (tmp_path / "file").write_text("")
    save_renewed_run(gone, last)
    save_last_run(gone, FinishedRun(last.salt, INFO, (), {}))
    assert load_last_run(gone, last.salt) is None


def test_damaged_run_is_not_written_again(tmp_path: Path) -> None:
    last = kept(tmp_path)
    long = tuple((f"{number:0200}", "1") for number in range(5000))
    other = replace(TRACES[0], files=long, key=Digest("k2"))
    part = find_reached_tasks(last, {0}, INPUTS_BY_KIND)
    again = update_packed_run(last, b"salt of the next", part, result_of([other, *TRACES[1:]]), "")
    path = next(path for path in files_of(tmp_path) if path.suffix == SUFFIX)
    path.write_bytes(bytes(path.stat().st_size))
    save_renewed_run(files_at(tmp_path), again)
    assert load_last_run(files_at(tmp_path), b"salt of the next") is None


@pytest.mark.parametrize("content", [[], (manifest.FORMAT, b"salt"), ("other",) * 9])
def test_sealed_file_of_another_form_is_not_a_last_run(tmp_path: Path, content: object) -> None:
    last = kept(tmp_path)
    files = files_at(tmp_path)
    packed: Any = content
    Path(files.head).write_bytes(SEAL.seal(files.name, marshal.dumps(packed)))
    assert load_last_run(files, last.salt) is None
