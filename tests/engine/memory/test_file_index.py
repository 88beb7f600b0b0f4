"""Digests by stat: a file that did not move is not read, one that may have is."""

import marshal
import os
from pathlib import Path

import pytest

from fabric.engine.memory.file_index import FileIndex, is_racy, is_settled, let_settle
from fabric.graph.traces import ABSENT, RowsTrace
from fabric.model.hashing import hash_bytes
from fabric.model.task import EXECUTABLE, UNREADABLE
from fabric.runtimes.contract import FileRows
from fabric.runtimes.file_rows import hash_row, read_rows
from tests.support.seals import SEAL, sealed

MS = 1_000_000
SECOND = 1000 * MS


class Place:
    """A workspace whose clock stands where a test puts it: so long after its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.late = 60 * SECOND

    def opened(self, *, late: int | None = None) -> FileIndex:
        now = self.now() + (self.late if late is None else late)
        return FileIndex(
            self.root, sealed(self.root / "index.bin"), now_ns=now, stamp=lambda _: now
        )

    def now(self) -> int:
        (self.root / "clock").touch()
        return (self.root / "clock").stat().st_ctime_ns


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "a").write_text("one")
    return Place(tmp_path)


def test_unchanged_file_is_remembered(place: Place) -> None:
    index = place.opened()
    assert index.digest("a") == hash_bytes(b"one")
    assert index.unsaved
    index.save()
    again = place.opened()
    assert again.read_settled_digest("a") == hash_bytes(b"one")
    assert not again.unsaved
    again.save()


def test_file_written_just_now_is_read_every_time(place: Place) -> None:
    place.opened().save()
    index = place.opened(late=0)
    assert index.digest("a") == hash_bytes(b"one")
    assert not index.unsaved
    assert index.read_settled_digest("a") == hash_bytes(b"one")
    assert index.unsaved, "once the run is over it may be kept"


def test_racy_file_is_forgotten(place: Place) -> None:
    index = place.opened()
    index.digest("a")
    index.save()
    (place.root / "a").write_text("two")
    again = place.opened(late=0)
    assert again.digest("a") == hash_bytes(b"two")
    assert again.unsaved
    again.save()
    assert not place.opened(late=0).unsaved


def test_files_written_by_fabric_are_not_read_back(place: Place) -> None:
    index = place.opened()
    index.note("a", "as told")
    index.note("nowhere", "as told")
    assert (index.digest("a"), index.digest("nowhere")) == ("as told", ABSENT)


def test_a_stamp_of_whole_seconds_is_not_relied_on(place: Place) -> None:
    stamp = place.now() // SECOND * SECOND
    assert is_settled([stamp - 3 * SECOND], lambda: stamp)
    assert not is_settled([stamp], lambda: stamp + SECOND)
    assert not is_settled([stamp + 1], lambda: stamp + 1)
    times = iter(range(stamp, stamp + 9 * MS, MS))
    assert not is_settled([stamp + MS + 1], lambda: next(times)), "it waited: look again"


def test_special_paths_have_their_own_digests(place: Place) -> None:
    (place.root / "folder").mkdir()
    (place.root / "run.sh").write_text("#!/bin/sh\n")
    (place.root / "run.sh").chmod(0o755)
    (place.root / "loop").symlink_to("loop")
    os.mkfifo(place.root / "pipe")
    index = place.opened()
    assert index.digest("folder") == "folder"
    assert index.digest("run.sh") == hash_bytes(b"#!/bin/sh\n") + EXECUTABLE
    assert index.digest("nowhere") == index.digest("a/below") == ABSENT
    assert index.digest("loop") == index.digest("pipe") == UNREADABLE
    assert index.read_settled_digest("nowhere") == ABSENT


def test_file_changed_during_a_task_is_named(place: Place) -> None:
    (place.root / "b").write_text("one")
    index = place.opened()
    began = index.now_ns()
    before = (("a", index.digest("a")),)
    (place.root / "a").write_text("two")
    pairs, moved = index.after(["a", "b"], began, before)
    assert (moved, dict(pairs)["a"]) == (("a",), hash_bytes(b"two"))
    assert index.after(["b"], began - 120 * SECOND)[1] == ("b",), "stamped since it began"


def test_folders_are_listed_once_unless_refreshed(place: Place) -> None:
    index = place.opened()
    first = index.listing("", "*", ())
    (place.root / "b").touch()
    assert index.listing("", "*", ()) == first
    assert index.listing_now("", "*", ()) != first


def test_links_are_resolved_to_their_target(place: Place) -> None:
    (place.root / "folder").mkdir()
    (place.root / "link").symlink_to("folder")
    index = place.opened()
    assert (index.real("link"), index.real("folder/../a")) == ("folder", "a")


@pytest.mark.parametrize("content", [b"", b"garbage", SEAL.seal("index.bin", b"garbage"), b"\xfb"])
def test_an_index_that_cannot_be_read_is_an_empty_one(content: bytes, place: Place) -> None:
    (place.root / "index.bin").write_bytes(content)
    index = place.opened()
    assert index.digest("a") == hash_bytes(b"one")
    assert index.unsaved


def test_an_index_that_cannot_be_written_only_costs_time(place: Place) -> None:
    (place.root / "index.bin").mkdir()
    (place.root / "index.bin" / "in the way").touch()
    index = place.opened()
    index.digest("a")
    index.save()


def test_deleted_file_is_not_racy(place: Place) -> None:
    written = (place.root / "a").stat().st_ctime_ns
    assert is_racy(str(place.root / "a"), written)
    assert not is_racy(str(place.root / "a"), written + 60 * SECOND)
    assert not is_racy(str(place.root / "nowhere"), 0)


def test_wait_ends_when_recent_writes_are_distinguishable() -> None:
    times = iter((0, 5 * MS, 2 * SECOND))
    let_settle(lambda: next(times))
    assert list(times) == []


def test_clock_that_does_not_move_is_not_waited_for() -> None:
    looks = []

    def stopped() -> int:
        looks.append(0)
        return 0

    let_settle(stopped)
    assert len(looks) < 100


def test_directories_above_the_workspace_are_counted(place: Place) -> None:
    assert place.opened().folders_above == len(place.root.resolve().parts) - 1


def test_file_that_fabric_wrote_is_known_to_the_next_command(place: Place) -> None:
    index = place.opened()
    index.note("a", "as told")
    index.save()
    assert place.opened().digest("a") == "as told"


LEFT, RIGHT = "node_modules/left left@1.0.0", "node_modules/right right@1.0.0"


def write_lock(place: Place, left: str, right: str) -> str:
    """A lock of two packages with these hashes; its own hash."""
    rows = ", ".join(
        f'"node_modules/{name}": {{"version": "1.0.0", "integrity": "{digest}"}}'
        for name, digest in (("left", left), ("right", right))
    )
    text = f'{{"lockfileVersion": 3, "packages": {{{rows}}}}}'
    (place.root / "package-lock.json").write_text(text)
    return hash_bytes(text.encode())


def test_row_changes_with_its_own_package_only(place: Place) -> None:
    write_lock(place, "l1", "r1")
    index = place.opened()
    before = index.row("package-lock.json", LEFT), index.row("package-lock.json", RIGHT)
    write_lock(place, "l1", "r22")
    index = place.opened()
    assert index.row("package-lock.json", LEFT) == before[0]
    assert index.row("package-lock.json", RIGHT) != before[1]


def test_rows_are_remembered_until_the_file_changes(place: Place) -> None:
    whole = write_lock(place, "l1", "r1")
    index = place.opened()
    [found] = index.rows([FileRows("package-lock.json", (LEFT,))])
    rows = read_rows("package-lock.json", (place.root / "package-lock.json").read_bytes())
    assert rows is not None
    assert found == RowsTrace("package-lock.json", ((LEFT, hash_row(rows, LEFT)),), whole)
    index.save()
    again = place.opened()
    assert again.row("package-lock.json", LEFT) == found.rows[0][1]
    assert not again.unsaved, "nothing was read again"


@pytest.mark.parametrize("text", ["{}", "garbage", "", '{"lockfileVersion": 1, "packages": {}}'])
def test_whole_file_stands_for_a_row_that_cannot_be_read(text: str, place: Place) -> None:
    (place.root / "package-lock.json").write_text(text)
    assert place.opened().row("package-lock.json", LEFT) == hash_bytes(text.encode())


def test_row_of_a_missing_file_is_missing(place: Place) -> None:
    assert place.opened().row("package-lock.json", LEFT) == ABSENT


def test_file_that_changes_while_its_rows_are_read_has_none(place: Place) -> None:
    whole = write_lock(place, "l1", "r1")
    index = place.opened()
    assert index.digest("package-lock.json") == whole
    write_lock(place, "l22", "r1")
    assert index.row("package-lock.json", LEFT) == whole


def test_index_of_an_earlier_version_is_read(place: Place) -> None:
    found = (place.root / "a").stat()
    stamps = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, 0)
    content = marshal.dumps({"a": (stamps, hash_bytes(b"one"))})
    (place.root / "index.bin").write_bytes(SEAL.seal("index.bin", content))
    again = place.opened()
    assert again.digest("a") == hash_bytes(b"one")
    assert not again.unsaved
