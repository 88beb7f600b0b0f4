"""Results of environment checks: their severity, their problem, and their stored form."""

import pytest

from fabric.model.checks import (
    Check,
    decode_checks,
    encode_checks,
    make_failed_check,
    make_passed_check,
    make_warning_check,
)
from fabric.model.problems import Place, Problem

PROBLEM = Problem("credentials/missing", "no token", hint="set it", where=Place("fabric.yml", 3, 5))


@pytest.mark.parametrize(
    ("check", "is_error"),
    [
        (make_passed_check("disk", "fine"), False),
        (make_failed_check("disk", PROBLEM), True),
        (make_warning_check("disk", PROBLEM), False),
    ],
)
def test_only_a_failed_check_is_an_error(check: Check, *, is_error: bool) -> None:
    assert check.is_error == is_error


def test_a_failed_check_has_the_place_in_its_message() -> None:
    check = make_failed_check("access", PROBLEM)
    assert check.message == "fabric.yml:3:5: no token"
    assert check.problem == Problem("credentials/missing", check.message, hint="set it")


def test_a_place_without_a_line_is_not_repeated() -> None:
    problem = Problem("disk/full", "`state` is full", where=Place("state"))
    assert make_failed_check("disk", problem).message == "`state` is full"


def test_a_check_without_a_code_is_named_by_its_check() -> None:
    assert make_passed_check("python", "3.12").problem.code == "doctor/python"


def test_stored_checks_are_read_as_they_were() -> None:
    checks = (make_passed_check("a", "fine"), make_warning_check("b", PROBLEM))
    assert decode_checks(encode_checks(checks)) == checks
