"""Copies of a project, in which the result of an import is checked."""

from pathlib import Path

import pytest

from fabric.app.importing.check import open_copy


@pytest.mark.parametrize("has_links", [True, False])
def test_a_copy_has_the_files_of_the_project(tmp_path: Path, has_links: bool) -> None:  # noqa: FBT001
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "api.js").write_text("one")
    (tmp_path / "node_modules").mkdir()
    with open_copy(tmp_path, has_links=has_links) as copy:
        assert copy is not None
        file = copy / "src" / "api.js"
        assert file.read_text() == "one"
        assert file.samefile(tmp_path / "src" / "api.js") is has_links
        assert not (copy / "node_modules").exists()
    assert not copy.exists()


def test_a_large_project_is_not_copied(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.js").touch()
    with open_copy(tmp_path, most_files=2) as copy:
        assert copy is None
