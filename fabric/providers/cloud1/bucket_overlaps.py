"""Conflicts between triggers of one bucket: S3 rejects two notifications for the same object."""

import itertools
import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.providers.cloud1.event_sources import read_last_part
from fabric.providers.core.contract import FunctionDraft, Unsupported

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
            if trigger.get("type") == "storage":
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
