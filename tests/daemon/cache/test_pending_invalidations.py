"""What is still to be cleared, over the lives of processes and of caches."""

import os
from pathlib import Path

import pytest

from fabric.daemon.cache.pending_invalidations import (
    MOST_CACHES,
    PendingInvalidation,
    PendingInvalidations,
)

HERE, THERE = "a" * 16, "b" * 16


class Notices(list[str]):
    """What the log was told."""

    def owed(self, folder: Path, cache: str = HERE) -> PendingInvalidations:
        return PendingInvalidations(folder / "daemon" / "owed", self.append, cache)


@pytest.fixture
def told() -> Notices:
    return Notices()


def stages(owed: PendingInvalidations) -> list[str]:
    return [one.stage for one in owed.owed]


def written(folder: Path) -> list[str]:
    return (folder / "daemon" / "owed").read_text().splitlines()


def pay_all(owed: PendingInvalidations) -> None:
    for one in owed.owed:
        owed.remove_completed(one)


def test_stored_invalidations_are_loaded_by_the_next_process_only(
    tmp_path: Path, told: Notices
) -> None:
    told.owed(tmp_path).keep_all(("prod", "dev"))
    path = tmp_path / "daemon" / "owed"
    assert path.stat().st_mode & 0o777 == 0o600
    assert stages(told.owed(tmp_path)) == ["dev", "prod"]
    assert told == []


def test_attempted_invalidation_is_not_written(tmp_path: Path, told: Notices) -> None:
    owed = told.owed(tmp_path)
    one = owed.add("dev")
    assert owed.owed == (one,)
    assert written(tmp_path) == [HERE]
    owed.remove_completed(one)
    assert owed.owed == ()


def test_completed_invalidation_is_removed_but_cache_stays(tmp_path: Path, told: Notices) -> None:
    owed = told.owed(tmp_path)
    owed.keep_all(("dev", "prod"))
    owed.remove_completed(owed.owed[0])
    assert stages(told.owed(tmp_path)) == ["prod"]
    owed.remove_completed(owed.owed[0])
    assert written(tmp_path) == [HERE]


def test_invalidation_of_one_cache_is_not_completed_by_another(
    tmp_path: Path, told: Notices
) -> None:
    here = told.owed(tmp_path)
    here.keep(here.add("dev"))
    there = told.owed(tmp_path, THERE)
    assert there.owed == ()
    there.keep(there.add("prod"))
    pay_all(there)
    assert written(tmp_path) == [f"{HERE} dev prod", THERE]
    assert stages(told.owed(tmp_path)) == ["dev", "prod"]


def test_change_is_pending_for_all_caches_and_stored_at_once_for_inactive_ones(
    tmp_path: Path, told: Notices
) -> None:
    told.owed(tmp_path)
    told.owed(tmp_path, THERE).add("dev")
    assert written(tmp_path) == [f"{HERE} dev", THERE]
    told.owed(tmp_path, THERE).keep_all(["lost"])
    assert written(tmp_path) == [f"{HERE} dev lost", f"{THERE} lost"]


def test_change_without_a_cache_is_pending_for_previous_caches(
    tmp_path: Path, told: Notices
) -> None:
    told.owed(tmp_path, "").add("dev")
    assert not (tmp_path / "daemon").exists()
    told.owed(tmp_path)
    told.owed(tmp_path, "").add("dev")
    assert stages(told.owed(tmp_path)) == ["dev"]


def test_to_pay_an_old_debt_is_not_to_pay_a_newer_one(tmp_path: Path, told: Notices) -> None:
    owed = told.owed(tmp_path)
    owed.keep(owed.add("dev"))
    (begun,) = owed.owed
    owed.keep(owed.add("dev"))
    owed.remove_completed(begun)
    assert stages(owed) == ["dev"]
    assert stages(told.owed(tmp_path)) == ["dev"]
    pay_all(owed)
    assert written(tmp_path) == [HERE]


def test_number_of_known_caches_is_limited_and_includes_the_active_one(
    tmp_path: Path, told: Notices
) -> None:
    names = [f"{number:016x}" for number in range(MOST_CACHES + 2)]
    for name in names:
        told.owed(tmp_path, name)
    assert written(tmp_path) == names[2:]
    told.owed(tmp_path, names[2])
    assert written(tmp_path) == [*names[3:], names[2]]


def test_temporary_file_of_a_killed_writer_is_deleted(tmp_path: Path, told: Notices) -> None:
    told.owed(tmp_path).keep_all(("dev",))
    (tmp_path / "daemon" / ".owed.1-1-x.tmp").write_text("de")
    assert stages(told.owed(tmp_path)) == ["dev"]
    assert [path.name for path in (tmp_path / "daemon").iterdir()] == ["owed"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (f"{HERE} dev \udcff\n{HERE} prod\n", ["dev", "prod"]),
        (f"{HERE} dev prod", ["dev", "prod"]),
        (f"dev\n{HERE} ../../etc dev\n", ["dev"]),
        (f"{THERE} dev\n{HERE} " + "x" * 100 + "\n", []),
        (f"\n{HERE}  dev\n", ["dev"]),
    ],
)
def test_readable_lines_of_a_damaged_file_count_and_damage_is_reported_once(
    content: str, found: list[str], tmp_path: Path, told: Notices
) -> None:
    (tmp_path / "daemon").mkdir()
    (tmp_path / "daemon" / "owed").write_bytes(content.encode(errors="surrogateescape"))
    for _ in range(2):
        assert stages(told.owed(tmp_path)) == found
    assert ["damaged" in one for one in told] == [True] * (content != f"{HERE} dev prod")


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "writable"])
def test_unsafe_pending_file_is_reported_and_not_read(
    kind: str, tmp_path: Path, told: Notices
) -> None:
    path = tmp_path / "daemon" / "owed"
    path.parent.mkdir()
    if kind == "link":
        (tmp_path / "other").write_text(f"{HERE} dev\n")
        path.symlink_to(tmp_path / "other")
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text(f"{HERE} dev\n")
        path.chmod(0o666)
    assert told.owed(tmp_path).owed == ()
    assert "cannot read" in told[0]
    assert kind != "link" or (tmp_path / "other").read_text() == f"{HERE} dev\n"


def test_unwritable_pending_file_is_reported(tmp_path: Path, told: Notices) -> None:
    (tmp_path / "daemon").write_text("in the way")
    owed = told.owed(tmp_path)
    assert len(told) == 1
    one = owed.add("dev")
    owed.keep(one)
    assert owed.owed == (PendingInvalidation("dev", one.number),)
