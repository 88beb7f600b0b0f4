"""The log of a run that died: what was acknowledged comes back, whatever was cut off."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    FunctionUnsure,
    RecordChange,
    ReleaseDone,
    UnitDone,
    apply_change,
    settle_intent,
)
from fabric.model.records.record import FunctionRecord, Intent, Operation, Record, RecordRef
from fabric.state.records.wal import Wal, build_wal_path, discard_logs, read_log, replay_log
from fabric.system.files.append_log import AppendLog, read_lines
from tests.support.project import REPO

REF = RecordRef("api", "dev", "cloud1-lambda")
NAMES = st.sampled_from(["one", "two", "three"])
TEXTS = st.sampled_from(["", "a", "ü\n", '"\\', "\u2028", "1"])
PAIRS = st.dictionaries(TEXTS, TEXTS, max_size=3).map(lambda found: tuple(sorted(found.items())))
TASKS = st.sampled_from(["deploy:api/one", "deploy:api/two", "release:api"])
DONE = st.builds(
    FunctionDone, TASKS, st.builds(FunctionRecord, NAMES, TEXTS, TEXTS, settings=PAIRS)
)
ENTRIES = st.one_of(
    DONE,
    st.builds(FunctionGone, TASKS, NAMES),
    st.builds(FunctionUnsure, TASKS, NAMES),
    st.builds(UnitDone, TASKS, PAIRS),
    st.builds(ReleaseDone, TASKS, TEXTS, PAIRS, TEXTS),
)
in_a_folder = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def record(fence: int = 7) -> Record:
    pending = tuple(Intent(task, Operation.DEPLOY) for task in ("deploy:api/one", "deploy:api/two"))
    return Record(REF, "cloud1-lambda", "line", "salt", fence=fence, pending=pending)


def logged(home: Path, entries: list[RecordChange], base: Record) -> Path:
    discard_logs(home, REF, 99)
    path = build_wal_path(home, REF, base.fence)
    wal = Wal(path, base.lineage, base.fence)
    for entry in entries:
        wal.append(entry)
    wal.close()
    return path


def folded(base: Record, entries: list[RecordChange]) -> Record:
    for entry in entries:
        base = settle_intent(apply_change(base, entry), entry.task)
    return base


def test_record_without_a_log_is_unchanged(tmp_path: Path) -> None:
    assert replay_log(record(), read_log(build_wal_path(tmp_path, REF, 7))) == record()


@in_a_folder
@given(entries=st.lists(ENTRIES, max_size=6))
def test_replayed_log_restores_all_entries_of_the_run(
    entries: list[RecordChange], tmp_path: Path
) -> None:
    path = logged(tmp_path, entries, record())
    assert replay_log(record(), read_log(path)) == folded(record(), entries)


@in_a_folder
@given(entries=st.lists(ENTRIES, max_size=6))
def test_to_replay_twice_is_to_replay_once(entries: list[RecordChange], tmp_path: Path) -> None:
    log = read_log(logged(tmp_path, entries, record()))
    once = replay_log(record(), log)
    assert replay_log(once, log) == once


@in_a_folder
@given(entries=st.lists(ENTRIES, min_size=1, max_size=4), share=st.floats(0, 1), tail=st.binary())
def test_a_torn_tail_takes_nothing_with_it_that_was_whole(
    entries: list[RecordChange], share: float, tail: bytes, tmp_path: Path
) -> None:
    path = logged(tmp_path, entries, record())
    content = path.read_bytes()
    cut = content[: int(share * len(content))]
    path.write_bytes(cut + tail.replace(b"\n", b""))
    # The header is the first of the whole lines.
    whole = max(0, cut.count(b"\n") - 1)
    assert replay_log(record(), read_log(path)) == folded(record(), entries[:whole])


@in_a_folder
@given(entries=st.lists(ENTRIES, min_size=1, max_size=6))
def test_entries_appended_together_replay_like_separate_ones(
    entries: list[RecordChange], tmp_path: Path
) -> None:
    one_by_one = logged(tmp_path, entries, record()).read_bytes()
    discard_logs(tmp_path, REF, 99)
    path = build_wal_path(tmp_path, REF, 7)
    Wal(path, "line", 7).append(*entries)
    assert path.read_bytes() == one_by_one


def test_a_header_that_was_written_again_voids_nothing(tmp_path: Path) -> None:
    gone = [FunctionGone("deploy:api/one", "one"), FunctionGone("deploy:api/two", "two")]
    path = logged(tmp_path, list(gone), record())
    header, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((header, rest[0], header, rest[1])))
    assert replay_log(record(), read_log(path)) == folded(record(), list(gone))


@pytest.mark.parametrize(
    "other", [replace(record(), lineage="another"), record(fence=8)], ids=["lineage", "fence"]
)
def test_log_of_another_state_is_ignored(other: Record, tmp_path: Path) -> None:
    path = logged(tmp_path, [FunctionGone("deploy:api/one", "one")], record())
    assert replay_log(other, read_log(path)) == other


def test_log_without_a_valid_header_is_ignored(tmp_path: Path) -> None:
    path = logged(tmp_path, [FunctionGone("deploy:api/one", "one")], record())
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    assert read_log(path) is None


def test_tasks_that_end_at_the_same_time_are_all_in_the_log(tmp_path: Path) -> None:
    for attempt in range(20):
        path = build_wal_path(tmp_path, REF, attempt)
        wal = Wal(path, "line", attempt)
        start = threading.Barrier(8)

        def end(number: int, wal: Wal = wal, start: threading.Barrier = start) -> None:
            start.wait()
            wal.append(FunctionGone("deploy:api/one", str(number)))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(end, range(8)))
        wal.close()
        log = read_log(path)
        assert log is not None
        assert {one.name for one in log.entries if isinstance(one, FunctionGone)} == set("01234567")


def test_discarding_takes_the_logs_of_all_holders(tmp_path: Path) -> None:
    for fence in (3, 4):
        logged_at = build_wal_path(tmp_path, REF, fence)
        Wal(logged_at, "line", fence).append(FunctionGone("deploy:api/one", "one"))
    discard_logs(tmp_path, REF, 99)
    assert not (tmp_path / "wal").exists()


_FULL_FOR_A_MOMENT = """\
import resource, sys
from pathlib import Path
from fabric.model.problems import FabricError
from fabric.system.files.append_log import AppendLog

path = Path(sys.argv[1])
journal = AppendLog(path)
journal.append("first")
room = path.stat().st_size + 5
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
try:
    journal.append("does not fit")
except FabricError:
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    journal.append("last")
"""


def test_line_lost_to_a_full_disk_hides_no_later_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    subprocess.run([sys.executable, "-c", _FULL_FOR_A_MOMENT, path], check=True, cwd=REPO)
    assert read_lines(path) == ["first", "last"]


def test_a_log_with_an_entry_of_no_kind_is_void(tmp_path: Path) -> None:
    log = AppendLog(tmp_path / "a.log")
    log.append('{"lineage": "l", "fence": 1}', '{"kind":"gone","task":"t","name":"x"}')
    log.append('{"kind":"moved","task":"t"}')
    log.close()
    assert read_log(tmp_path / "a.log") is None
