"""Errors of a provider call, attributed to a function and one of its triggers."""

import contextlib
from collections.abc import Iterator

from msgspec.structs import replace

from fabric.model.problems import ConfigSpot, FabricError, Problem, replace_problems


@contextlib.contextmanager
def attach_error_spot(function: str, trigger: int | None = None) -> Iterator[None]:
    """Attribute errors raised inside to this function and trigger, unless they name a place
    already."""
    try:
        yield
    except FabricError as error:
        spot = ConfigSpot(function, trigger)
        raise replace_problems(
            error, (_set_problem_spot(one, spot) for one in error.problems)
        ) from error


def _set_problem_spot(problem: Problem, spot: ConfigSpot) -> Problem:
    return problem if problem.about else replace(problem, about=spot)
