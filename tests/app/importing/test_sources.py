"""The sources of an import, and how their paths are shown."""

from pathlib import Path

import pytest

from fabric.app.importing.sources import format_shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/a/b/c/x.yml", "x.yml"),
        ("/a/b/c/d/../x.yml", "x.yml"),
        ("/a/b/x.yml", "../x.yml"),
        ("/e/f/x.yml", "/e/f/x.yml"),
    ],
)
def test_paths_are_relative_to_the_working_directory(path: str, shown: str) -> None:
    assert format_shown(Path(path), Path("/a/b/c")) == shown
