"""The fingerprint tag of a function at its provider."""

from fabric.model.ownership_tags import mark_of


def test_a_fingerprint_depends_on_the_key_and_on_the_salt() -> None:
    marks = {mark_of(key, salt) for key in ("a", "b") for salt in ("1", "2")}
    assert len(marks) == 4
    assert mark_of("a", "1") == mark_of("a", "1")


def test_a_fingerprint_fits_a_tag_and_does_not_contain_the_key() -> None:
    key = "ab" * 32
    mark = mark_of(key, "salt")
    assert len(mark) == 32
    assert mark not in key
