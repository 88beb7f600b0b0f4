"""Shapes: every key has words and an example that fits; messages say what was found."""

import json
from collections.abc import Iterator

import pytest

from fabric.config.schema.check import check
from fabric.config.schema.compose import COMPOSE
from fabric.config.schema.config import CONFIG
from fabric.config.schema.documents import build_schema
from fabric.config.schema.shapes import (
    Anything,
    Either,
    Field,
    Fields,
    Kinds,
    Many,
    Named,
    Shape,
    Table,
)
from fabric.config.yaml.reader import read
from tests.support.config_texts import HEAD, ONE, problems


def _fields_in(shape: Shape) -> Iterator[Field]:
    match shape:
        case Fields(fields=fields):
            for field in fields:
                yield field
                yield from _fields_in(field.shape)
        case Many(item=inner) | Table(value=inner) | Named(entry=inner):
            yield from _fields_in(inner)
        case Kinds(kinds=kinds):
            for _, inner_fields in kinds:
                yield from _fields_in(inner_fields)
        case Either(shapes=shapes):
            for option in shapes:
                yield from _fields_in(option)
        case _:
            return


@pytest.mark.parametrize("shape", [CONFIG, COMPOSE], ids=["config", "compose"])
def test_every_key_has_a_description_and_an_example_that_fits(shape: Shape) -> None:
    for field in _fields_in(shape):
        example = read("example", json.dumps(field.example).encode()).root
        assert field.doc.endswith("."), field.name
        assert not [one for one in check(field.shape, example) if one.is_fatal], field.name


def test_anything_is_the_empty_schema() -> None:
    assert build_schema(Anything()) == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("env: 5", "must be a map, not `5`"),
        ("env: [a]", "must be a map, not a list"),
        ("env: {A: }", "must be text, a number, true or false, not empty"),
        ("env: {A: {}}", "not a map"),
        ("env: {1A: x}", "invalid key `1A` in `env`: it must be letters"),
        ("stages: []", "`stages` must be a map, not a list"),
        ("layers: 5", "`layers` must be a list, or a map by name, not `5`"),
        ("layers: {a: {arn: 5}}", "`layers.a.arn` must be text, not `5`"),
        ("build: {ignore: a}", "`build.ignore` must be a list, not `a`"),
        ("build: {minify: yes}", "`build.minify` must be true or false, not `yes`"),
        ("logs: &a 1\nworkflows: *a", "`workflows` must be a list"),
        ("layers: [{arn: a, name: x}, {arn: b, name: x}]", "duplicate name `x` in `layers`"),
    ],
)
def test_type_error_names_expected_and_actual_type(line: str, words: str) -> None:
    (found,) = problems(HEAD + ONE + line)
    assert words in found.message


def test_a_terminal_obeys_nothing_in_a_message() -> None:
    found = problems(HEAD + 'functions: [{name: "\\e[31mred", entry: ../x}]')
    assert not any("\x1b" in one.message + one.hint + one.frame for one in found)


def test_too_many_problems_are_cut_off() -> None:
    many = "".join(f"key{number}: 1\n" for number in range(500))
    assert len(problems(HEAD + ONE + many)) == 100


def test_a_number_in_place_of_text_may_just_need_quotes() -> None:
    (found,) = problems(HEAD.replace("shop", "5") + ONE)
    assert found.hint == "put the value in quotes"
