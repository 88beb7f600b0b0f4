"""Problems of one file, in its order and with its lines."""

import pytest

from fabric.config.yaml.problems import open_document, place_in_file
from fabric.model.problems import FabricError, Place, Problem

TEXT = "a: 1\nb: 2\nc: 3\n"


def test_problems_are_in_the_order_of_the_file() -> None:
    problems = [
        Problem("x/c", "", where=Place("", 3, 1)),
        Problem("x/b2", "", where=Place("", 2, 4)),
        Problem("x/file", ""),
        Problem("x/b1", "", where=Place("", 2, 1)),
    ]
    found = place_in_file("fabric.yml", TEXT, problems)
    assert [one.code for one in found] == ["x/file", "x/b1", "x/b2", "x/c"]
    assert [one.where.file for one in found if one.where] == ["fabric.yml"] * len(
        [one for one in found if one.where]
    )


def test_a_problem_with_a_line_shows_it() -> None:
    (found,) = place_in_file("fabric.yml", TEXT, [Problem("x/b", "", where=Place("", 2, 1))])
    assert "b: 2" in found.frame


def test_an_unreadable_document_is_reported_with_its_line() -> None:
    with pytest.raises(FabricError) as caught:
        open_document("fabric.yml", b"a: 1\nb: [\n")
    assert caught.value.first.where
    assert caught.value.first.where.file == "fabric.yml"
    assert "b: [" in caught.value.first.frame
