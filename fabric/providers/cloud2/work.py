"""The context of Google Cloud calls, and long-running operations."""

import contextlib
from collections.abc import Iterator

from msgspec import Raw, Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.providers.cloud2.client import Cloud2Api, build_cloud2_call, classify_refusal
from fabric.providers.cloud2.settings import Cloud2Place, Cloud2Settings, place_in
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import Judged
from fabric.providers.core.ownership import other_place_problem
from fabric.providers.core.retry import RetryPolicy, poll_until, sleep_interruptibly
from fabric.providers.core.work import ApiWork
from fabric.system.retry import TransientError

# A build takes a minute or two, and more where many are built at once.
BUILDING = RetryPolicy(base=1.0, cap=5.0, most=900.0)
# Words for an operation that broke off, and may be begun again: ABORTED and UNAVAILABLE.
_PASSING = frozenset((10, 14))


class Cloud2Work(ApiWork[Cloud2Api], frozen=True, kw_only=True):
    """The context of one call. `building` limits the wait for operations."""

    title: str = "Google Cloud"
    judged: Judged = classify_refusal
    own: Cloud2Settings
    place: Cloud2Place
    building: RetryPolicy = BUILDING

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Limit the number of parallel builds."""
        while not self.api.builds.acquire(blocking=False):
            sleep_interruptibly(self.building.base, self.building, self.watch)
        try:
            yield
        finally:
            self.api.builds.release()


class OperationFault(Struct, frozen=True):
    code: int = 0
    message: str = ""


class OperationRow(Struct, frozen=True):
    name: str
    done: bool = False
    error: OperationFault | None = None
    response: Raw = Raw(b"null")


def wait_for_operation(
    work: Cloud2Work, interface: str, begun: OperationRow, whose: str
) -> OperationRow:
    """Wait until an operation is done. Raises a TransientError if it can be started again."""

    def look() -> OperationRow | None:
        row = work.ask(build_cloud2_call(interface, "GET", f"/v2/{begun.name}"), OperationRow)
        return row if row.done else None

    row = begun if begun.done else poll_until(look, work.building, work.watch)
    if row is None:
        raise FabricError(timeout_problem(whose, work.building))
    if row.error is None:
        return row
    words = f"{whose}: {work.quoted(row.error.message or f'code {row.error.code}')}"
    if row.error.code in _PASSING:
        raise TransientError(words)
    raise FabricError(Problem("provider/failed", words, "this is a message from Google Cloud"))


def timeout_problem(whose: str, waiting: RetryPolicy) -> Problem:
    message = f"timeout: {whose} was not ready within {waiting.most:.0f} s"
    return Problem("provider/not-ready", message, "deploy again: existing resources are reused")


# Of each function: the revision with traffic, and its callers.
REVISION, CALLERS = "revision:", "callers:"


def locate_deployment(address: DeploymentAddress) -> DeploymentAddress:
    """Return the address with the deployed region, which can differ from the configured one."""
    noted = address.previous.functions if address.previous else ()
    there = next((place for one in noted if (place := place_in(one.resource_id))), None)
    return address if there is None else replace(address, region=there.region)


def find_place_conflict(
    record: Record, place: Cloud2Place, *, is_region_known: bool = True
) -> Problem | None:
    """Return a problem if the record belongs to another project or region. A missing project is
    reported with the missing credentials."""
    places = [place_in(one.resource_id) for one in record.functions]
    other = [
        one
        for one in places
        if one and (one != place if is_region_known else one.project != place.project)
    ]
    if not other or not place.project:
        return None
    hint = (
        "set `CLOUD2_PROJECT_ID` and the region to the old values, or run `fabric remove` "
        "with them before you deploy elsewhere"
    )
    return other_place_problem(record, f"in `{other[0].path}`", f"not in `{place.path}`", hint)
