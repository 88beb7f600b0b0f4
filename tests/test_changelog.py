"""Changelog fragments have a known type, one short line, and the view of a user."""

from pathlib import Path

import pytest

_FOLDER = Path(__file__).parents[1] / "changelog.d"
_TYPES = {"added", "changed", "fixed", "removed", "security"}
_MOST_WORDS = 25


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("*.md")), ids=lambda path: path.name)
def test_a_fragment_is_one_short_line_of_a_known_type(path: Path) -> None:
    assert path.name.startswith("+")
    assert path.name.split(".")[1:] in [[kind, "md"] for kind in _TYPES]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1, "one line per fragment"
    assert len(lines[0].split()) <= _MOST_WORDS
    assert lines[0].endswith("."), "a whole sentence"
