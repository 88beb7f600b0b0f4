"""Providers that deploy a service as a whole: one version contains all its functions."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.hashing import hash_fields
from fabric.model.problems import ConfigSpot, FabricError, Problem, raise_if_any
from fabric.model.records.record import FunctionRecord, Record
from fabric.model.task import Pairs
from fabric.providers.core.contract import (
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Unsupported,
)
from fabric.providers.core.deployer import Operations, VersionedDeployer
from fabric.providers.core.errors import format_generic_hint
from fabric.providers.core.limits import UNFIT
from fabric.providers.core.ownership import CurrentOwner, find_owner_conflict
from fabric.providers.core.retry import poll_until
from fabric.providers.core.triggers import format_resource_name, shorten_name
from fabric.providers.core.work import ApiWork

Work = TypeVar("Work")
_NAME_LENGTH = 63
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")
_OWNER_LENGTH = 16
# A version is made ready by the provider in its own time: the wait is longer than for an answer.
_LONGER = 10


def build_function_name(address: DeploymentAddress, function: str) -> str:
    name = _OTHERS.sub("-", format_resource_name(address, function))
    return shorten_name(name, _NAME_LENGTH)


def require_one_runtime(orders: Sequence[FunctionOrder], shared: str) -> str:
    """Return the runtime of all functions, which run in one place. `shared` names it."""
    problem = _find_other_runtime({one.name: one.artifact.runtime for one in orders}, shared)
    if problem is not None:
        raise FabricError(problem)
    return orders[0].artifact.runtime


def find_mixed_runtimes(functions: Sequence[FunctionDraft], shared: str) -> Iterator[Unsupported]:
    runtimes = {one.name: dict(one.settings).get("runtime", "") for one in functions}
    problem = _find_other_runtime(runtimes, shared)
    if problem is not None and problem.about is not None:
        yield Unsupported(problem.about.function, problem)


def _find_other_runtime(runtimes: Mapping[str, str], shared: str) -> Problem | None:
    first = next(iter(runtimes.items()), ("", ""))
    for function, runtime in runtimes.items():
        if runtime != first[1]:
            message = (
                f"function `{function}` has the runtime `{runtime}`, and `{first[0]}` has "
                f"`{first[1]}`: all functions of a service share {shared}"
            )
            hint = "use one runtime, or move the function to another service"
            return Problem(UNFIT, message, hint, about=ConfigSpot(function))
    return None


class WholeOwner(Struct, frozen=True):
    """The owner of a version: a service in a stage."""

    service: str
    stage: str

    @property
    def name(self) -> str:
        return f"{self.service}/{self.stage}"

    @property
    def digest(self) -> str:
        return hash_fields((self.service, self.stage))[:_OWNER_LENGTH]


class WholeVersion(Struct, frozen=True):
    """One version in one place, such as a project or a site, with its number of functions."""

    place: str = ""
    ident: str = ""
    count: int = 0

    @property
    def text(self) -> str:
        return f"{self.place}/{self.ident}/{self.count}"


def parse_version(resource_id: str) -> WholeVersion:
    """Parse a resource id; the result is empty if the id names no version."""
    match resource_id.rsplit("/", 2):
        case [place, ident, count] if count.isdecimal():
            return WholeVersion(place, ident, int(count))
        case _:
            return WholeVersion()


def list_deployed(functions: Sequence[LiveFunction]) -> list[LiveFunction]:
    """List the functions with a version: a failed deploy has none."""
    return [one for one in functions if parse_version(one.resource_id).ident]


def require_one_version(
    address: DeploymentAddress, functions: Sequence[LiveFunction], kind: str, why: str
) -> str:
    """Return the id of the version that contains exactly these functions. `kind` is its noun, and
    `why` the reason for the limit."""
    versions = {parse_version(one.resource_id) for one in functions}
    whole = next(iter(versions), None)
    if whole is not None and len(versions) == 1 and whole.count == len(functions):
        return whole.ident
    message = (
        f"no {kind} contains exactly the functions of `{address.service}` ({len(functions)}): "
        f"they are in {len(versions)} {kind}s, and {why}"
    )
    hint = "deploy the whole service with `--force` and without `--function`"
    raise FabricError(Problem("deploy/incomplete", message, hint))


def refuse_single(
    provider: str, why: str
) -> Callable[[object, DeploymentAddress, Sequence[LiveFunction]], None]:
    """Build the operation that refuses to delete single functions."""

    def refuse(
        _work: object, address: DeploymentAddress, functions: Sequence[LiveFunction]
    ) -> None:
        names = ", ".join(f"`{one.name}`" for one in functions)
        message = f"{provider} cannot delete single functions ({names}): {why}"
        hint = f"remove the function from the config of `{address.service}` and deploy"
        raise FabricError(Problem("remove/whole-service", message, hint))

    return refuse


def build_live_functions(
    address: DeploymentAddress, orders: Sequence[FunctionOrder], place: str, ident: str
) -> tuple[LiveFunction, ...]:
    version = WholeVersion(place, ident, len(orders))
    return tuple(
        LiveFunction(
            order.name,
            build_function_name(address, order.name),
            version.text,
            artifact_sha256=order.artifact.sha256,
            mark=order.mark,
            triggers=order.triggers,
        )
        for order in orders
    )


def list_recorded_rows(record: Record | None) -> Iterator[FunctionRecord]:
    """Yield function records, current and rollback targets, newest first."""
    if record is not None:
        yield from record.functions
        for past in record.history:
            yield from past.functions


def find_recorded_function(
    address: DeploymentAddress, function: str, ident: str
) -> LiveFunction | None:
    """Find the function of a version in state, which knows its archive."""
    for one in list_recorded_rows(address.previous):
        if one.name == function and parse_version(one.resource_id).ident == ident:
            name = build_function_name(address, function)
            return LiveFunction(
                function, name, one.resource_id, artifact_sha256=one.artifact_sha256
            )
    return None


class VersionRow(Protocol):
    """A version in a response of the provider."""

    @property
    def ident(self) -> str: ...
    @property
    def state_word(self) -> str: ...
    @property
    def is_ready(self) -> bool: ...
    @property
    def is_failed(self) -> bool: ...
    @property
    def error_message(self) -> str | None: ...


Row = TypeVar("Row", bound=VersionRow)


def wait_until_ready(work: ApiWork[object], row: Row, kind: str, fetch: Callable[[], Row]) -> None:
    """Wait until the provider has processed all uploads."""
    if row.is_ready:
        return
    title, seen = f"the {kind} {row.ident}", row.state_word

    def look() -> Row | None:
        nonlocal seen
        found = fetch()
        if found.state_word != seen:
            seen = found.state_word
            work.watch.hear(f"{title} is {seen}")
        return found if found.is_failed or found.is_ready else None

    work.watch.hear(f"waiting until {title} is ready")
    longer = replace(work.waiting, most=work.waiting.most * _LONGER)
    found = poll_until(look, longer, work.watch)
    if found is None:
        message = f"timeout: {title} is still {seen} after {longer.most:.0f} s"
        hint = f"check it in the {work.title} dashboard, then run the command again to continue"
        raise FabricError(Problem("provider/not-ready", message, hint))
    if found.is_failed:
        said = work.quoted(found.error_message or found.state_word)
        message = f"{title} failed: {said}"
        raise FabricError(Problem("provider/refused", message, format_generic_hint(work.title)))


# How much of each function's own mark a version has.
_PART_LENGTH = 8


def pack_marks(marks: Iterable[tuple[str, str]]) -> str:
    """Pack names of functions with their marks into a short text."""
    return "".join(sorted(_hash_part(*one) for one in marks))


def count_marks(packed: str, function: str, mark: str) -> int:
    """Return the number of functions in a packed text, or 0 if this function with this mark is not
    among them."""
    parts = [packed[at : at + _PART_LENGTH] for at in range(0, len(packed), _PART_LENGTH)]
    return len(parts) if _hash_part(function, mark) in parts else 0


def _hash_part(function: str, mark: str) -> str:
    return hash_fields((function, mark))[:_PART_LENGTH]


Variables = Sequence[tuple[str, Pairs]]


class SharedEnvironment(Struct, frozen=True):
    """The variables of a version, which all its functions share. `kind` is a version, site or
    deployment; `most_bytes` is the limit of all names and values."""

    provider: str
    kind: str
    most_bytes: int

    def refuse(self, orders: Sequence[FunctionOrder]) -> None:
        """Raise for unsupported orders before any API call: variable values are first known
        here."""
        found = self._find_problems([(order.name, order.env.reveal()) for order in orders])
        problems = [problem for _, problem in found]
        raise_if_any(problems)

    def find_unsupported(self, functions: Iterable[FunctionDraft]) -> Iterator[Unsupported]:
        """Check variables with known values; the others are checked before the first call."""
        found = self._find_problems([(one.name, one.known.reveal()) for one in functions])
        for function, problem in found:
            keys = () if function else ("functions",)
            yield Unsupported(function, replace(problem, code=UNFIT), keys=keys)

    def _find_problems(self, functions: Variables) -> Iterator[tuple[str, Problem]]:
        """Yield problems, each with the function that it is reported for."""
        found: dict[str, tuple[str, str]] = {}
        for function, pairs in functions:
            for name, value in pairs:
                first, known = found.setdefault(name, (function, value))
                if known != value:
                    yield function, self._conflict_problem(name, first, function)
        size = sum(len(f"{name}{value}".encode()) for name, (_, value) in found.items())
        if size > self.most_bytes:
            yield "", self._size_problem(size)

    def _conflict_problem(self, name: str, first: str, second: str) -> Problem:
        message = f"the variable `{name}` has different values in `{first}` and `{second}`"
        whole = f"{self.provider} {self.kind}"
        hint = f"rename one of them: all functions of a {whole} share their variables"
        return Problem("deploy/unfit-environment", message, hint)

    def _size_problem(self, size: int) -> Problem:
        message = f"the variables of all functions have {size:,} bytes (names and values)"
        most = f"{self.provider} allows {self.most_bytes:,} bytes per {self.kind}"
        hint = f"store large values in files: {most}"
        return Problem("deploy/environment-too-large", message, hint)


class WholeOperations(Operations[Work], frozen=True, kw_only=True):
    # By function, the version made with its mark, found together for all functions.
    find_versions: Callable[[Work, DeploymentAddress, Mapping[str, str]], Mapping[str, str]]


class WholeDeployer(VersionedDeployer[Work], frozen=True, kw_only=True):
    """The base class of deployers that replace a whole service, in a place that can contain only
    one. `place` is that place in the environment."""

    unit: DeployUnit = DeployUnit.SERVICE
    operations: WholeOperations[Work]
    place: CurrentOwner
    environment: SharedEnvironment

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        self.environment.refuse(orders)

    def elsewhere(self, record: Record) -> Problem | None:
        noted = (parse_version(one.resource_id).place for one in record.functions)
        return find_owner_conflict(record, noted, self.place)

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        with self._call(f"`{address.service}`", address) as work:
            return self.operations.find_versions(work, address, marks)

    @property
    def sole_place(self) -> str:
        return f"the {self.place.kind} `{self.place.value}`" if self.place.value else ""
