"""What is still to be cleared, over the lives of processes."""

import os
from pathlib import Path

import pytest

from fabric.daemon.cache.owed_clears import OwedClears


class Told(list[str]):
    """What the log was told."""

    def owed(self, folder: Path) -> OwedClears:
        return OwedClears(folder / "daemon" / "owed", self.append)


@pytest.fixture
def told() -> Told:
    return Told()


def test_what_is_kept_is_known_to_the_next_one_and_to_nobody_else(
    tmp_path: Path, told: Told
) -> None:
    told.owed(tmp_path).keep(("prod", "dev"))
    path = tmp_path / "daemon" / "owed"
    assert path.stat().st_mode & 0o777 == 0o600
    assert told.owed(tmp_path).stages == ("dev", "prod")
    assert told == []


def test_what_is_only_being_tried_is_not_written(tmp_path: Path, told: Told) -> None:
    owed = told.owed(tmp_path)
    owed.add("dev")
    assert owed.stages == ("dev",)
    owed.paid("dev")
    assert not (tmp_path / "daemon").exists()


def test_with_the_last_that_is_paid_the_file_goes(tmp_path: Path, told: Told) -> None:
    owed = told.owed(tmp_path)
    owed.keep(("dev", "prod"))
    owed.paid("dev")
    assert told.owed(tmp_path).stages == ("prod",)
    owed.paid("prod")
    assert list((tmp_path / "daemon").iterdir()) == []


def test_what_a_killed_writer_left_goes(tmp_path: Path, told: Told) -> None:
    told.owed(tmp_path).keep(("dev",))
    (tmp_path / "daemon" / ".owed.1-1-x.tmp").write_text("de")
    assert told.owed(tmp_path).stages == ("dev",)
    assert [path.name for path in (tmp_path / "daemon").iterdir()] == ["owed"]


@pytest.mark.parametrize(
    ("content", "stages"),
    [
        (b"dev\n\xff\x00\nprod\n", ("dev", "prod")),
        (b"dev\nprod", ("dev", "prod")),
        (b"../../etc\ndev\n", ("dev",)),
        (b"x" * 100 + b"\n", ()),
    ],
)
def test_of_a_damaged_file_what_can_be_read_counts_and_the_rest_is_told(
    content: bytes, stages: tuple[str, ...], tmp_path: Path, told: Told
) -> None:
    (tmp_path / "daemon").mkdir()
    (tmp_path / "daemon" / "owed").write_bytes(content)
    assert told.owed(tmp_path).stages == stages
    assert ["damaged" in one for one in told] == [True] * (content != b"dev\nprod")


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "writable"])
def test_what_is_no_file_of_ours_is_not_read_and_told(
    kind: str, tmp_path: Path, told: Told
) -> None:
    path = tmp_path / "daemon" / "owed"
    path.parent.mkdir()
    if kind == "link":
        (tmp_path / "other").write_text("dev\n")
        path.symlink_to(tmp_path / "other")
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("dev\n")
        path.chmod(0o666)
    assert told.owed(tmp_path).stages == ()
    (said,) = told
    assert "is not read" in said


def test_where_it_cannot_be_written_that_is_told(tmp_path: Path, told: Told) -> None:
    (tmp_path / "daemon").write_text("in the way")
    owed = told.owed(tmp_path)
    owed.keep(("dev",))
    assert owed.stages == ("dev",)
    assert len(told) == 1
