"""Which function, and which of its triggers, a call to a provider is made for."""

import contextlib
from collections.abc import Iterator

from msgspec.structs import replace

from fabric.model.problems import ConfigSpot, FabricError, Problem, retold


@contextlib.contextmanager
def concerning(function: str, trigger: int | None = None) -> Iterator[None]:
    """What goes wrong inside is about it, unless it says already what it is about."""
    try:
        yield
    except FabricError as error:
        spot = ConfigSpot(function, trigger)
        raise retold(error, (_about(one, spot) for one in error.problems)) from error


def _about(problem: Problem, spot: ConfigSpot) -> Problem:
    return problem if problem.about else replace(problem, about=spot)
