"""Names in an archive: relative, unambiguous on any disk, and each only once."""

import pytest

from fabric.system.source.entries import Refused
from fabric.system.source.names import Names, is_plain_name, split_checked


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/passwd", "has an absolute path"),
        ("C:/windows", "starts with a drive letter"),
        ("a\\b", "has a backslash in its name"),
        ("a\nb", "has a control character in its name"),
        ("a\x85b", "has a control character in its name"),
        ("../a", "points outside the archive"),
        ("a/../b", "points outside the archive"),
        ("é" * 128, "has a name that is too long or too deep"),
        ("/".join("a" * 65), "has a name that is too long or too deep"),
        ("/".join(["a" * 200] * 6), "has a name that is too long or too deep"),
    ],
)
def test_a_name_with_another_meaning_elsewhere_is_refused(name: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        split_checked(name)
    assert not is_plain_name(name)


@pytest.mark.parametrize(
    ("name", "parts"),
    [("./a//b/", ("a", "b")), ("a..b/c", ("a..b", "c")), (".", ()), ("é" * 127, ("é" * 127,))],
)
def test_a_name_is_split_without_dots_and_repeated_slashes(
    name: str, parts: tuple[str, ...]
) -> None:
    assert split_checked(name) == parts


@pytest.mark.parametrize("name", ["", ".", "a/", "./a", "a//b", "\udc80"])
def test_only_a_name_that_stays_unchanged_is_plain(name: str) -> None:
    assert not is_plain_name(name)
    assert is_plain_name("a/b.txt")


def test_a_directory_can_be_repeated_and_implied() -> None:
    names = Names(10)
    assert names.admit("a/b.txt", is_folder=False) == "a/b.txt"
    assert names.admit("a/", is_folder=True) == "a"
    assert names.admit("./a", is_folder=True) == "a"
    assert names.admit("./", is_folder=True) == ""


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (("a", False), ("a", False), "is a duplicate entry"),
        (("a", False), ("a", True), "is both a file and a directory"),
        (("a", False), ("a/b", False), "is both a file and a directory"),
        (("a", False), ("A", False), "differs from another name only in case or accents"),
        (("é", False), ("e\u0301", False), "differs from another name only in case or accents"),
        (("a/b", False), ("A/c", False), "differs from another name only in case or accents"),
        (("a", False), ("./", False), "has no name"),
    ],
)
def test_two_entries_never_share_a_place_on_any_disk(
    first: tuple[str, bool], second: tuple[str, bool], why: str
) -> None:
    names = Names(10)
    names.admit(first[0], is_folder=first[1])
    with pytest.raises(Refused, match=why):
        names.admit(second[0], is_folder=second[1])


def test_implied_directories_count_as_entries() -> None:
    names = Names(3)
    names.admit("a/b/c", is_folder=False)
    with pytest.raises(Refused, match="has more than 3 entries"):
        names.admit("d", is_folder=False)
