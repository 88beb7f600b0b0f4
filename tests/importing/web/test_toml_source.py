"""TOML and JSON with comments as trees with places."""

import pytest

from fabric.importing.sam.config import read_deploy_settings
from fabric.importing.source import At
from fabric.importing.web.toml_source import blank_comments, read_toml
from fabric.model.problems import FabricError

TEXT = """\
name = "a"
[one.two]
three = {four = 5}
[[list]]
x = 1
[[list]]
x = 2
[list.inner]
y = 2026-01-01
"""


@pytest.mark.parametrize(
    ("path", "place", "value"),
    [
        (("name",), (1, 1), "a"),
        (("one", "two", "three"), (3, 1), {"four": 5}),
        (("one", "two", "three", "four"), (3, 1), 5),
        (("list", "0", "x"), (5, 1), 1),
        (("list", "1", "x"), (7, 1), 2),
        (("list", "1", "inner", "y"), (9, 1), "2026-01-01"),
    ],
)
def test_values_of_toml_have_places(
    path: tuple[str, ...], place: tuple[int, int], value: object
) -> None:
    at = At(read_toml("a.toml", TEXT))
    for key in path:
        children = at.list_items() if at.is_list else at.list_entries()
        [at] = [one for one in children if one.key == key]
    assert (at.line, at.column) == place
    assert at.value == value


def test_broken_toml_is_a_problem_with_its_place() -> None:
    with pytest.raises(FabricError) as error:
        read_toml("a.toml", "a = 1\nb = \n")
    assert (error.value.first.code, str(error.value.first.where)) == (
        "import/unreadable",
        "a.toml:2:5",
    )


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 50_000, "a = " + "[" * 80 + "]" * 80, ".".join("a" * 3000) + " = 1"]
)
def test_deep_toml_is_a_problem(text: str) -> None:
    with pytest.raises(FabricError, match="nested more than 64 levels"):
        read_toml("a.toml", text)
    with pytest.raises(FabricError, match="nested more than 64 levels"):
        read_deploy_settings(text)


def test_comments_of_json_become_blanks() -> None:
    text = '{"a": "http://x /* y */", // b\n "c": /* d\n */ 1}'
    assert blank_comments(text) == '{"a": "http://x /* y */",     \n "c":     \n    1}'


@pytest.mark.parametrize(
    "text",
    ["/*" * 500_000, '"' * 500_000, "/" * 1_000_000, "a /* b"],
    ids=["blocks", "texts", "lines", "one block"],
)
def test_comments_that_do_not_end_take_linear_time(text: str) -> None:
    assert len(blank_comments(text)) == len(text)
