"""The result of a build or package run."""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar, overload

from fabric.model.names import Verb
from fabric.model.outcomes.json_struct import JsonStruct


class ShardShare(JsonStruct, frozen=True):
    """`results` are the counts of final tasks by shard. `expected_ms` are the shards' durations, if
    all are known."""

    number: int
    count: int
    results: tuple[int, ...]
    expected_ms: tuple[int, ...]


class RemoteUse(JsonStruct, frozen=True):
    """`hits` are results taken from the shared cache. `ms` is the total wait time."""

    hits: int
    fetched_bytes: int
    sent_bytes: int
    ms: int


class BuiltArtifact(JsonStruct, frozen=True):
    """One function's artifact."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"savedMs"})

    service: str
    function: str
    path: str
    sha256: str
    size_bytes: int
    cached: bool
    reason: str
    # Its build time if it was cached.
    saved_ms: int


class BuildOutcome(JsonStruct, frozen=True):
    """`artifacts` are all artifacts, `new` those of this run. The rest are task counts and the
    duration.

    `left` tasks were not started before an interruption.
    """

    verb: Verb
    artifacts: Sequence[BuiltArtifact]
    new: tuple[BuiltArtifact, ...]
    ran: int
    cached: int
    failed: int
    blocked: int
    ms: int
    left: int = 0
    remote: RemoteUse | None = None
    shard: ShardShare | None = None


T = TypeVar("T")


class WhenRead(Sequence[T]):
    """A sequence that creates all rows on first access."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make
        self._rows: Sequence[T] | None = None

    def _get_rows(self) -> Sequence[T]:
        if self._rows is None:
            self._rows = self._make()
        return self._rows

    def __len__(self) -> int:
        return len(self._get_rows())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._get_rows()[index]
