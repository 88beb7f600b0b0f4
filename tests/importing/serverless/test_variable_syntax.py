"""The syntax of variables of the Serverless Framework."""

import pytest

from fabric.importing.serverless.variable_syntax import (
    Choice,
    Variable,
    parse_choice,
    parse_literal,
    split_variables,
)
from fabric.model.problems import FabricError


def test_a_text_is_split_into_variables_and_other_text() -> None:
    assert split_variables("a-${self:b, 'c, d'}-e") == (
        "a-",
        Variable("${self:b, 'c, d'}", ("self:b", "'c, d'")),
        "-e",
    )


def test_variables_can_be_nested() -> None:
    [found] = split_variables("${self:custom.${opt:stage, 'dev'}.x}")
    assert isinstance(found, Variable)
    assert found.choices == ("self:custom.${opt:stage, 'dev'}.x",)


@pytest.mark.parametrize("text", ["${AWS::Region}", "${Table}", "${Table.Arn}", "\\${self:a}"])
def test_functions_of_cloudformation_and_escaped_variables_are_text(text: str) -> None:
    assert split_variables(text) == (text.removeprefix("\\"),)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("self:a.b", Choice("self", "", "a.b")),
        ("file(a.yml):b", Choice("file", "a.yml", "b")),
        ("cf(us-east-1):stack.Out", Choice("cf", "us-east-1", "stack.Out")),
        ("ssm.eu-west-1:/a", Choice("ssm", "", "/a", "eu-west-1")),
    ],
)
def test_an_alternative_names_a_source(text: str, choice: Choice) -> None:
    assert parse_choice(text) == choice


@pytest.mark.parametrize(
    ("text", "value"), [("'a'", "a"), ('"b"', "b"), ("3", 3), ("true", True), ("null", None)]
)
def test_an_alternative_can_be_a_constant(text: str, value: object) -> None:
    assert parse_literal(text) == (True, value)


def test_deep_nesting_is_an_error() -> None:
    with pytest.raises(FabricError, match="nested more than 16 levels"):
        split_variables("${self:" * 40)
