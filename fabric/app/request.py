"""What the user asked for, as a value: the same for the command line and the daemon."""

import math

from msgspec import Struct, field

from fabric.engine.schedule import Caps
from fabric.model.names import Verb
from fabric.model.problems import FabricError, Problem

CONFIG_NAME = "fabric.yml"


class ServiceChoice(Struct, frozen=True):
    """A choice of services that is still to be made: their names are not known yet."""

    dependents: bool = False
    dependencies: bool = False
    affected: bool = False
    base: str = ""


class Where(Struct, frozen=True):
    """Which services are meant, as the user said it.

    `home` is where `.fabric` lies when that is not beside the config. `choice` is made before
    anything is compiled; if it comes to no service at all, `nothing` is meant.
    """

    config: str = CONFIG_NAME
    compose: str = ""
    stage: str = ""
    provider: str = ""
    services: tuple[str, ...] = ()
    home: str = ""
    choice: ServiceChoice = field(default_factory=ServiceChoice)
    nothing: bool = False


class Request(Struct, frozen=True):
    verb: Verb
    command: str
    where: Where = field(default_factory=Where)
    functions: frozenset[str] = frozenset()
    concurrency: str = "16"
    use_cache: bool = True
    fail_fast: bool = False
    keep_going: bool = False
    strict: bool = False
    out: str = ""
    profiled: bool = False
    detailed: bool = False


def caps_of(concurrency: str, cores: int) -> Caps:
    """`8`, or `50%` of the cores; CPU tasks are capped at the cores besides."""
    number, percent, rest = concurrency.partition("%")
    if not number.isascii() or not number.isdecimal() or rest or int(number) == 0:
        raise FabricError(
            Problem(
                "usage/bad-concurrency",
                f"--concurrency {concurrency} is not a number of tasks",
                hint="a whole number from 1 up, or a percentage of the cores such as 50%",
            )
        )
    total = math.ceil(cores * int(number) / 100) if percent else int(number)
    return Caps(total=max(1, total), cpu=max(1, min(total, cores)))
