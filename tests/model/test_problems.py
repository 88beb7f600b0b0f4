"""Problems: exit codes, places, and repeated ones."""

import pytest

from fabric.model.problems import (
    ExitCode,
    FabricError,
    Place,
    Problem,
    UntouchedError,
    drop_repeated_problems,
    exit_code_of,
    merge_missing_credentials,
    raise_if_any,
    replace_problems,
)

PROBLEM = Problem("config/unknown-key", "unknown key `a`")
PLACED = Problem("config/unknown-key", "unknown key `a`", where=Place("fabric.yml", 2, 1))


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("usage/bad-switch", ExitCode.USAGE),
        ("config/unknown-key", ExitCode.INVALID),
        ("compose/cycle", ExitCode.INVALID),
        ("input/bad-plan", ExitCode.INVALID),
        ("backend/unreachable", ExitCode.UNREACHABLE),
        ("disk/full", ExitCode.CANNOT_WRITE),
        ("lock/held", ExitCode.LOCKED),
        ("credentials/missing", ExitCode.NO_CREDENTIALS),
        ("run/interrupted", ExitCode.INTERRUPTED),
        ("run/partial", ExitCode.PARTIAL),
        ("router/bad-percent", ExitCode.USAGE),
        ("router/other", ExitCode.FAILED),
        ("provider/unreachable", ExitCode.UNREACHABLE),
        ("provider/failed", ExitCode.FAILED),
    ],
)
def test_a_code_has_the_exit_code_of_its_area_or_its_own(code: str, exit_code: ExitCode) -> None:
    assert exit_code_of(Problem(code, "")) is exit_code
    assert FabricError(Problem(code, ""), Problem("run/partial", "")).exit_code is exit_code


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place("a.yml"), "a.yml"),
        (Place("a.yml", 3), "a.yml:3"),
        (Place("a.yml", 3, 7), "a.yml:3:7"),
    ],
)
def test_a_place_names_only_what_is_known(place: Place, text: str) -> None:
    assert str(place) == text


def test_a_problem_of_several_services_is_reported_once() -> None:
    assert drop_repeated_problems([PROBLEM.of("a"), PROBLEM.of("b")]) == (PROBLEM,)


def test_of_repeated_problems_the_one_with_a_place_is_kept() -> None:
    assert drop_repeated_problems([PROBLEM, PLACED]) == (PLACED,)
    assert drop_repeated_problems([PLACED.of("a"), PROBLEM]) == (PLACED,)


def test_problems_with_other_messages_are_all_kept() -> None:
    other = Problem("config/unknown-key", "unknown key `b`")
    assert drop_repeated_problems([other, PROBLEM]) == (other, PROBLEM)


def test_an_error_has_the_messages_of_all_its_problems() -> None:
    assert str(FabricError(PROBLEM, Problem("x/y", "second"))) == "unknown key `a`; second"


@pytest.mark.parametrize("kind", [FabricError, UntouchedError])
def test_replaced_problems_keep_whether_a_call_was_made(kind: type[FabricError]) -> None:
    replaced = replace_problems(kind(PROBLEM), (PLACED,))
    assert type(replaced) is kind
    assert replaced.problems == (PLACED,)


def test_missing_credentials_of_several_services_are_one_problem() -> None:
    first, second = (Problem("credentials/missing", f"cannot read {one}", "set A") for one in "ab")
    other = Problem("credentials/missing", "cannot deploy", "set B")
    assert merge_missing_credentials([first, PROBLEM, second, other]) == (first, PROBLEM, other)


def test_found_problems_are_raised_together() -> None:
    raise_if_any(())
    with pytest.raises(FabricError) as raised:
        raise_if_any(one for one in (PROBLEM, PLACED))
    assert raised.value.problems == (PROBLEM, PLACED)
