"""Check that event sources exist before the first change."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.buckets import find_bucket_region
from fabric.providers.cloud1.client import MAX_PARALLEL
from fabric.providers.cloud1.events import BucketWire, QueueWire, RuleWire, Wire
from fabric.providers.cloud1.rules import FoundQueue, find_queue, has_bus
from fabric.providers.cloud1.versions import Cloud1Work, read_timeout_seconds
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.retry import run_parallel

T = TypeVar("T")
FunctionWires: TypeAlias = Mapping[str, tuple[Wire, ...]]


class _Places(Struct, frozen=True):
    queues: Mapping[str, FoundQueue | None]
    buses: Mapping[str, bool]
    buckets: Mapping[str, str | None]
    region: str


def find_missing_buckets(
    work: Cloud1Work, address: DeploymentAddress, functions: FunctionWires
) -> tuple[str, ...]:
    """Return the buckets to create. Raises for everything else that is missing or unsuitable."""
    region = work.clients.of("lambda").meta.region_name
    wires = [wire for found in functions.values() for wire in found]
    places = _Places(
        _fetch_each((one.queue for one in wires if isinstance(one, QueueWire)), work, find_queue),
        _fetch_each((one.bus for one in wires if isinstance(one, RuleWire)), work, has_bus),
        _fetch_each(
            (one.bucket for one in wires if isinstance(one, BucketWire)), work, find_bucket_region
        ),
        region,
    )
    problems = [
        problem
        for name, found in functions.items()
        for wire in found
        for problem in _find_source_problems(
            name, wire, places, _read_recorded_timeout(address, name)
        )
    ]
    if problems:
        raise FabricError(*problems)
    return tuple(bucket for bucket, there in places.buckets.items() if there is None)


def _fetch_each(
    names: Iterable[str], work: Cloud1Work, look: Callable[[Cloud1Work, str], T]
) -> dict[str, T]:
    asked = sorted(set(names))
    return dict(
        zip(asked, run_parallel(lambda name: look(work, name), asked, MAX_PARALLEL), strict=True)
    )


def _find_source_problems(
    function: str, wire: Wire, places: _Places, timeout: int
) -> Iterator[Problem]:
    match wire:
        case QueueWire(queue=queue):
            yield from _find_queue_problems(function, wire, places.queues[queue], timeout)
        case RuleWire(bus=bus) if not places.buses[bus]:
            yield _missing_source_problem(function, f"bus `{bus}`")
        case BucketWire(bucket=bucket, is_existing=is_existing):
            there = places.buckets[bucket]
            if there is None and is_existing:
                yield _missing_source_problem(function, f"bucket `{bucket}`")
            elif there and there != places.region:
                yield _bucket_region_problem(function, bucket, (there, places.region))
        case _:
            return


def _find_queue_problems(
    function: str, wire: QueueWire, found: FoundQueue | None, timeout: int
) -> Iterator[Problem]:
    queue = wire.queue
    if found is None or wire.arn not in ("", found.arn):
        yield _missing_source_problem(function, f"queue `{wire.arn or queue}`")
    elif found.hidden_for < timeout:
        message = (
            f"function `{function}` has a timeout of {timeout} s, and the visibility timeout "
            f"of the queue `{queue}` is only {found.hidden_for} s"
        )
        hint = (
            "increase the visibility timeout of the queue, or decrease the timeout of the function"
        )
        yield Problem("deploy/queue-timeout", message, hint)


def _bucket_region_problem(function: str, bucket: str, regions: tuple[str, str]) -> Problem:
    message = (
        f"function `{function}` is in {regions[1]}, and the bucket `{bucket}` of its trigger is in "
        f"{regions[0]}"
    )
    hint = "use a bucket in the region of the function"
    return Problem("deploy/other-region", message, hint)


def _missing_source_problem(function: str, what: str) -> Problem:
    message = f"function `{function}` has a trigger for the {what}, which does not exist"
    return Problem("deploy/missing-source", message, "create it, or correct its name or region")


def _read_recorded_timeout(address: DeploymentAddress, function: str) -> int:
    record = address.previous.function(function) if address.previous else None
    return read_timeout_seconds(dict(record.settings if record else ()))
