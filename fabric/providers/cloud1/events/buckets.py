"""Event notifications of buckets.

The notification document of a bucket is shared with other owners. Only entries with our prefix are
changed, but the whole document is written each time.
"""

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import ignore_codes
from fabric.providers.cloud1.core.versions import Cloud1Work, retry_on_conflict
from fabric.providers.cloud1.events.events import read_last_part
from fabric.providers.cloud1.events.wires import BucketWire
from fabric.providers.core.contract import FunctionDraft, Unsupported
from fabric.system.cloud1_account import read_error_code

_ROWS = "LambdaFunctionConfigurations"
_BUS = "EventBridgeConfiguration"
_TRIES = 3
_NO_BUCKET = frozenset(("404", "NoSuchBucket"))
_FORBIDDEN = "403"
_FIRST_REGION = "us-east-1"
_OWNED = frozenset(("BucketAlreadyOwnedByYou",))
Row: TypeAlias = Mapping[str, Any]


class BucketEntries(Struct, frozen=True):
    """The desired entries of a bucket, in place of all entries that `are_ours`."""

    rows: tuple[Row, ...]
    are_ours: Callable[[Row], bool]
    # Whether EventBridge must receive the events as well. fabric never turns this off, because
    # other rules can depend on it.
    needs_bus: bool = False


class _BucketLocks:
    """One lock per bucket for all threads of this process: otherwise the last writer would win."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def of(self, bucket: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(bucket, threading.Lock())


_LOCKS = _BucketLocks()


def find_bucket_region(work: Cloud1Work, bucket: str) -> str | None:
    """Return the region of a bucket, None if it does not exist, or an empty text without permission
    to read it."""
    from botocore.exceptions import ClientError

    try:
        found = work.clients.of("s3").head_bucket(Bucket=bucket)
    except ClientError as error:
        if read_error_code(error) in _NO_BUCKET:
            return None
        if read_error_code(error) != _FORBIDDEN:
            raise
        return ""
    return str(found.get("BucketRegion", ""))


def make_bucket(work: Cloud1Work, bucket: str, tags: Mapping[str, str]) -> None:
    storage = work.clients.of("s3")
    region = storage.meta.region_name
    place = {"CreateBucketConfiguration": {"LocationConstraint": region}}
    with ignore_codes(_OWNED):
        storage.create_bucket(Bucket=bucket, **({} if region == _FIRST_REGION else place))
    rows = [{"Key": name, "Value": value} for name, value in tags.items()]
    storage.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": rows})


def build_entry(wire: BucketWire, alias: str) -> Row:
    rules = [
        {"Name": name, "Value": value}
        for name, value in (("prefix", wire.prefix), ("suffix", wire.suffix))
        if value
    ]
    only = {"Filter": {"Key": {"FilterRules": rules}}} if rules else {}
    return {"Id": wire.name, "LambdaFunctionArn": alias, "Events": list(wire.events), **only}


def set_entries(work: Cloud1Work, bucket: str, entries: BucketEntries) -> None:
    """Write the entries and read them again: other writers change the same document without a
    lock."""
    is_needed = entries.rows or entries.needs_bus
    with _LOCKS.of(bucket), ignore_codes(frozenset() if is_needed else _NO_BUCKET):
        for _ in range(_TRIES):
            document = _fetch_document(work, bucket)
            if _is_said(document, entries):
                return
            _write(work, bucket, document, entries)
        if not _is_said(_fetch_document(work, bucket), entries):
            raise FabricError(_contention_problem(bucket))


def _fetch_document(work: Cloud1Work, bucket: str) -> dict[str, Any]:
    found = work.clients.of("s3").get_bucket_notification_configuration(Bucket=bucket)
    return {name: value for name, value in found.items() if name != "ResponseMetadata"}


def _with_entries(document: Mapping[str, Any], entries: BucketEntries) -> dict[str, Any]:
    others = [row for row in document.get(_ROWS, ()) if not entries.are_ours(row)]
    bus: dict[str, Any] = {_BUS: {}} if entries.needs_bus else {}
    return {**document, **bus, _ROWS: [*others, *entries.rows]}


def _write(work: Cloud1Work, bucket: str, document: dict[str, Any], entries: BucketEntries) -> None:
    """Write the document. Invalid destinations of other entries must not block ours."""
    more = {} if entries.rows else {"SkipDestinationValidation": True}
    storage = work.clients.of("s3")
    retry_on_conflict(
        work,
        lambda: storage.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration=_with_entries(document, entries), **more
        ),
    )


def _is_said(document: Mapping[str, Any], entries: BucketEntries) -> bool:
    if entries.needs_bus and _BUS not in document:
        return False
    there = (row for row in document.get(_ROWS, ()) if entries.are_ours(row))
    return sorted(map(_normalize_entry, there)) == sorted(map(_normalize_entry, entries.rows))


def _normalize_entry(row: Row) -> tuple[object, ...]:
    """Normalize an entry for comparison, however S3 formats it."""
    rules = ((row.get("Filter") or {}).get("Key") or {}).get("FilterRules") or ()
    filters = sorted((one["Name"].lower(), one["Value"]) for one in rules)
    return row["Id"], row["LambdaFunctionArn"], sorted(row["Events"]), filters


def _contention_problem(bucket: str) -> Problem:
    message = f"another process keeps changing the event notifications of the bucket `{bucket}`"
    return Problem("provider/contested", message, "deploy again when the other process is done")


_ALL = ":*"


class _BucketTrigger(Struct, frozen=True):
    """A storage trigger."""

    function: str
    # Its position in its function.
    number: int
    bucket: str
    events: tuple[str, ...]
    prefix: str
    suffix: str

    def meets(self, other: "_BucketTrigger") -> bool:
        return (
            self.bucket == other.bucket
            and any(_is_one_event(*pair) for pair in itertools.product(self.events, other.events))
            and (self.prefix.startswith(other.prefix) or other.prefix.startswith(self.prefix))
            and (self.suffix.endswith(other.suffix) or other.suffix.endswith(self.suffix))
        )


def find_bucket_overlaps(functions: Sequence[FunctionDraft]) -> Iterator[Unsupported]:
    """Yield each trigger that overlaps an earlier one, once."""
    told = list(_list_bucket_triggers(functions))
    for place, one in enumerate(told):
        other = next((before for before in told[:place] if before.meets(one)), None)
        if other is not None:
            yield Unsupported(one.function, _overlap_problem(one, other), one.number)


def _list_bucket_triggers(functions: Sequence[FunctionDraft]) -> Iterator[_BucketTrigger]:
    for one in functions:
        for number, text in enumerate(one.triggers):
            trigger = json.loads(text)
            if trigger.get("type") == "storage" and not trigger.get("viaEventBus"):
                bucket, events = read_last_part(trigger["bucket"]), tuple(trigger["events"])
                ends = (trigger.get("prefix", ""), trigger.get("suffix", ""))
                yield _BucketTrigger(one.name, number, bucket, events, *ends)


def _is_one_event(one: str, other: str) -> bool:
    return one == other or any(
        wide.endswith(_ALL) and narrow.startswith(wide.removesuffix("*"))
        for wide, narrow in ((one, other), (other, one))
    )


def _overlap_problem(one: _BucketTrigger, other: _BucketTrigger) -> Problem:
    also = "itself" if one.function == other.function else f"`{other.function}`"
    message = (
        f"function `{one.function}` subscribes to objects in the bucket `{one.bucket}` that "
        f"{also} already subscribes to; S3 notifies only one function per object"
    )
    hint = "use different prefixes or suffixes, or handle both in one function"
    return Problem("config/unfit", message, hint)
