"""Query parameters of the API."""

import pytest

from fabric.daemon.parameters import (
    FUNCTION,
    STAGE,
    WAIT,
    Parameter,
    read_parameters,
)
from fabric.model.problems import FabricError, Problem

KNOWN = (STAGE, FUNCTION, WAIT)


def refused(*query: tuple[str, str], known: tuple[Parameter, ...] = KNOWN) -> tuple[Problem, ...]:
    with pytest.raises(FabricError) as caught:
        read_parameters(query, known)
    return caught.value.problems


def test_a_parameter_has_its_value_or_is_empty() -> None:
    found = read_parameters([("stage", "prod")], KNOWN)
    assert (found.one(STAGE), found.one(WAIT), found.all(FUNCTION)) == ("prod", "", frozenset())


def test_only_some_parameters_can_be_repeated() -> None:
    found = read_parameters([("function", "a"), ("function", "b")], KNOWN)
    assert found.all(FUNCTION) == {"a", "b"}
    (problem,) = refused(("stage", "a"), ("stage", "b"))
    assert problem.message == "duplicate query parameter `stage`"


@pytest.mark.parametrize(
    ("pair", "message", "hint"),
    [
        (("stag", "dev"), "unknown query parameter `stag`", "did you mean `stage`?"),
        (("stage", ""), "query parameter `stage` has no value", "omit `stage`, or set a value"),
        (
            ("wait", "2"),
            "invalid value for the query parameter `wait`: `2`",
            "use `0` or `1`",
        ),
    ],
)
def test_an_invalid_parameter_is_refused(pair: tuple[str, str], message: str, hint: str) -> None:
    (problem,) = refused(pair)
    assert (problem.message, problem.hint) == (message, hint)


def test_all_problems_are_reported_together() -> None:
    assert len(refused(("other", "1"), ("wait", "5"), ("stage", ""))) == 3


def test_a_path_without_parameters_says_so() -> None:
    (problem,) = refused(("stage", "dev"), known=())
    assert problem.hint == "remove it: this path has no parameters"
