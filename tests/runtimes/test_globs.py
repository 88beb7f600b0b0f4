"""Patterns and ignore rules, as the documentation promises them."""

from pathlib import Path

import pytest

from fabric.runtimes.globs import is_ignored, list_files, split_pattern
from tests.support.runtimes_project import write

TREE = (
    "a.txt",
    "b.md",
    "data/a.txt",
    "data/deep/b.txt",
    "data/deep/c.md",
    "node_modules/x/a.txt",
    ".git/config",
)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.txt", ["a.txt"]),
        ("**/*.txt", ["a.txt", "data/a.txt", "data/deep/b.txt"]),
        ("data", ["data/a.txt", "data/deep/b.txt", "data/deep/c.md"]),
        ("./data/*", ["data/a.txt"]),
        ("data/**", ["data/a.txt", "data/deep/b.txt", "data/deep/c.md"]),
        ("*/deep", ["data/deep/b.txt", "data/deep/c.md"]),
        ("data/**/b.txt", ["data/deep/b.txt"]),
        ("data/[ab].txt", ["data/a.txt"]),
        ("data/[!a].txt", []),
        ("?.md", ["b.md"]),
        ("**", ["a.txt", "b.md", "data/a.txt", "data/deep/b.txt", "data/deep/c.md"]),
        ("node_modules/x/a.txt", ["node_modules/x/a.txt"]),
        ("gone/**", []),
    ],
)
def test_a_pattern_lists(pattern: str, names: list[str], tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(TREE, ""))
    assert list(list_files(str(tmp_path), pattern)) == names


@pytest.mark.parametrize(
    ("rules", "name", "ignored"),
    [
        (("*.md",), "data/deep/c.md", True),
        (("/*.md",), "data/deep/c.md", False),
        (("/*.md",), "b.md", True),
        (("data/",), "data/a.txt", True),
        (("data/",), "data", False),
        (("deep",), "data/deep/b.txt", True),
        (("data/deep",), "data/deep/b.txt", True),
        (("*.md", "!c.md"), "data/deep/c.md", False),
        (("!c.md", "*.md"), "data/deep/c.md", True),
        ((), "anything", False),
    ],
)
def test_the_last_rule_that_matches_decides(
    rules: tuple[str, ...], name: str, *, ignored: bool
) -> None:
    assert is_ignored(name, rules) is ignored


def test_a_pattern_is_split_at_its_first_wildcard() -> None:
    assert split_pattern("../libs/shared/**/*.py") == ("../libs/shared", "**/*.py")
