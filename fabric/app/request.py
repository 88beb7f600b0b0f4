"""The user's request as a value, common to the command line and the daemon."""

import math
from collections.abc import Sequence

from msgspec import Struct, field

from fabric.engine.schedule import Caps
from fabric.model.executor import DaskAddress
from fabric.model.names import Verb
from fabric.model.problems import FabricError, Problem
from fabric.model.shard import Shard

CONFIG_NAME = "fabric.yml"


class ServiceChoice(Struct, frozen=True):
    """A choice of services that is still to be made: their names are not known yet."""

    dependents: bool = False
    dependencies: bool = False
    affected: bool = False
    base: str = ""


class Where(Struct, frozen=True):
    """The selected services.

    `choice` is resolved before compiling; if it selects nothing, `nothing` is set.

    With `only_place` the request is about existing records: only settings that locate them must
    resolve (with `keeps_router` also the router). Without `reads_secrets` no secret manager is
    called.

    `text` replaces the content of `config`. `targets` are several targets of one service; with
    `leads_name` the router's hostname is pointed to them.
    """

    config: str = CONFIG_NAME
    compose: str = ""
    stage: str = ""
    provider: str = ""
    services: tuple[str, ...] = ()
    # The location of `.fabric` if it is not beside the config.
    home: str = ""
    choice: ServiceChoice = field(default_factory=ServiceChoice)
    nothing: bool = False
    # Values for `${param:…}`.
    params: tuple[tuple[str, str], ...] = ()
    only_place: bool = False
    keeps_router: bool = False
    reads_secrets: bool = True
    text: bytes | None = None
    targets: tuple[str, ...] = ()
    leads_name: bool = False


class Request(Struct, frozen=True):
    verb: Verb
    command: str
    where: Where = field(default_factory=Where)
    functions: frozenset[str] = frozenset()
    concurrency: str = "16"
    use_cache: bool = True
    cache_modes: str = ""
    upload_wait: str = ""
    fail_fast: bool = False
    keep_going: bool = False
    strict: bool = False
    out: str = ""
    profiled: bool = False
    detailed: bool = False
    shard: Shard | None = None
    executor: DaskAddress | None = None


def parse_params(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse `NAME=VALUE` params. A value can be empty; a repeated name is an error."""
    pairs = [word.partition("=") for word in words]
    names = [name for name, _, _ in pairs]
    for (name, equals, _), word in zip(pairs, words, strict=True):
        if not equals or not name:
            message = f"invalid value for --param: `{word.partition('=')[0] or '='}`"
            raise FabricError(
                Problem(
                    "usage/bad-param", message, hint="use NAME=VALUE, such as --param color=blue"
                )
            )
        if names.count(name) > 1:
            raise FabricError(Problem("usage/bad-param", f"duplicate name in --param: `{name}`"))
    return tuple((name, value) for name, _, value in pairs)


def parse_caps(concurrency: str, cores: int) -> Caps:
    """Parse a limit such as `8` or `50%` of the cores. CPU tasks are also limited to the core
    count."""
    number, percent, rest = concurrency.partition("%")
    if not number.isascii() or not number.isdecimal() or rest or int(number) == 0:
        raise FabricError(
            Problem(
                "usage/bad-concurrency",
                f"invalid value for --concurrency: `{concurrency}`",
                hint="use a whole number of at least 1, or a percentage of the cores such as 50%",
            )
        )
    total = math.ceil(cores * int(number) / 100) if percent else int(number)
    return Caps(total=max(1, total), cpu=max(1, min(total, cores)))
