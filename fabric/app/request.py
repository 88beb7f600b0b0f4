"""The user's request as a value, common to the command line and the daemon."""

import math
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.engine.schedule import Caps
from fabric.model.names import Verb
from fabric.model.problems import FabricError, Problem
from fabric.model.runs.executor import DaskAddress
from fabric.model.runs.shard import Shard

CONFIG_NAME = "fabric.yml"


class ServiceChoice(Struct, frozen=True):
    """A choice of services that is still to be made: their names are not known yet."""

    dependents: bool = False
    dependencies: bool = False
    affected: bool = False
    base: str = ""


class Reading(Struct, frozen=True, kw_only=True):
    """How much of the configs is read."""

    # Replaces the content of the config file.
    text: bytes | None = None
    # Only settings that locate records must resolve, and with `keeps_router` also the router.
    only_place: bool = False
    keeps_router: bool = False
    # Without it no secret manager is called.
    secrets: bool = True
    # Whether references that cannot be read have their last known values.
    last_known: bool = False


class RouterTargets(Struct, frozen=True):
    """Several targets of one service."""

    labels: tuple[str, ...] = ()
    # Point the hostname of the router to them.
    leads_name: bool = False


class Where(Struct, frozen=True):
    """The selected services, and how much of their configs is read."""

    config: str = CONFIG_NAME
    compose: str = ""
    stage: str = ""
    provider: str = ""
    # None if a choice selected no service.
    services: tuple[str, ...] | None = ()
    # The location of `.fabric` if it is not beside the config.
    home: str = ""
    choice: ServiceChoice = field(default_factory=ServiceChoice)
    # Values for `${param:…}`.
    params: tuple[tuple[str, str], ...] = ()
    reading: Reading = field(default_factory=Reading)
    router: RouterTargets = field(default_factory=RouterTargets)

    def with_text(self, text: bytes) -> "Where":
        return replace(self, reading=replace(self.reading, text=text))

    def for_records(self) -> "Where":
        """Read only what locates records, for commands about existing deployments."""
        return replace(self, reading=replace(self.reading, only_place=True))

    def without_secrets(self) -> "Where":
        """Read no secret: values of secret managers stay open."""
        return replace(self, reading=replace(self.reading, secrets=False))

    def with_last_known(self) -> "Where":
        """Let references that cannot be read have their last known values, for plans."""
        return replace(self, reading=replace(self.reading, last_known=True))


class CacheOptions(Struct, frozen=True, kw_only=True):
    """The caches that a run may use."""

    use_cache: bool = True
    modes: str = ""
    # How long a run waits for its uploads.
    upload_wait: str = ""


class Execution(Struct, frozen=True, kw_only=True):
    """How the tasks of a run are executed."""

    concurrency: str = "16"
    fail_fast: bool = False
    keep_going: bool = False
    strict: bool = False


class Detail(Struct, frozen=True, kw_only=True):
    """Further contents of a report, beside its outcome."""

    # The critical path of the run.
    profiled: bool = False
    # Each task as a test case.
    cases: bool = False


class Request(Struct, frozen=True):
    verb: Verb
    command: str
    where: Where = field(default_factory=Where)
    functions: frozenset[str] = frozenset()
    caching: CacheOptions = field(default_factory=CacheOptions)
    execution: Execution = field(default_factory=Execution)
    detail: Detail = field(default_factory=Detail)
    out: str = ""
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
