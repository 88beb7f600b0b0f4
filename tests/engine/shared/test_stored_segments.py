"""What was learnt of a commit is kept for an hour, and is no more believed than what is fetched."""

from pathlib import Path

from fabric.engine.shared.stored_segments import (
    FAILED_SECONDS,
    FOUND_SECONDS,
    LastQuery,
    StoredSegments,
)
from fabric.model.hashing import hash_fields

ONE, TWO = hash_fields(("one",)), hash_fields(("two",))
ASKED = LastQuery("cache", "commit", 1000, ok=True, segments=(ONE,))


def test_stored_segment_is_available_to_the_next_command(tmp_path: Path) -> None:
    kept = StoredSegments(tmp_path)
    kept.keep(ONE, b"one")
    kept.remember(ASKED)
    again = StoredSegments(tmp_path)
    assert again.read_last_query() == ASKED
    assert again.segment(ONE) == b"one"
    assert again.segment(TWO) is None


def test_segment_no_longer_referenced_is_deleted(tmp_path: Path) -> None:
    kept = StoredSegments(tmp_path)
    kept.keep(TWO, b"two")
    kept.keep(ONE, b"one")
    kept.remember(ASKED)
    assert kept.segment(TWO) is None


def test_it_holds_for_its_cache_its_commit_and_its_time() -> None:
    last = 1000 + FOUND_SECONDS - 1
    assert ASKED.holds("cache", "commit", last)
    assert not ASKED.holds("cache", "commit", last + 1)
    assert not ASKED.holds("cache", "commit", 999), "a clock that was wrong"
    assert not ASKED.holds("cache", "another", 1000)
    assert not ASKED.holds("another", "commit", 1000)
    failed = LastQuery("cache", "commit", 1000, ok=False)
    assert failed.holds("cache", "commit", 1000 + FAILED_SECONDS - 1)
    assert not failed.holds("cache", "commit", 1000 + FAILED_SECONDS)


def test_damage_is_nothing(tmp_path: Path) -> None:
    kept = StoredSegments(tmp_path)
    kept.remember(ASKED)
    path = tmp_path / "shared" / "asked"
    good = path.read_text()
    for text in ("", "{}", "[" * 100_000, good.replace(ONE, "../" + ONE[3:])):
        path.write_text(text)
        assert kept.read_last_query() is None


def test_without_a_cache_nothing_is_stored(tmp_path: Path) -> None:
    for folder in (None, tmp_path / "gone"):
        kept = StoredSegments(folder)
        kept.keep(ONE, b"one")
        kept.remember(ASKED)
        assert kept.read_last_query() is None
    assert list(tmp_path.iterdir()) == []
