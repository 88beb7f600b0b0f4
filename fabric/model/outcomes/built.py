"""What a build or package run came to."""

from collections.abc import Sequence
from typing import ClassVar

from fabric.model.names import Verb
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.outcomes.remote_use import RemoteUse
from fabric.model.outcomes.shard_share import ShardShare


class BuiltArtifact(JsonStruct, frozen=True):
    """One function's result as users see it. `saved_ms` is what making it took, if it was not."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"savedMs"})

    service: str
    function: str
    path: str
    sha256: str
    size_bytes: int
    cached: bool
    reason: str
    saved_ms: int


class BuildOutcome(JsonStruct, frozen=True):
    """`artifacts` are all that there are, `new` those that this run made; the rest are counts of
    tasks, and the time that they took. `left` were not begun when it was interrupted."""

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
