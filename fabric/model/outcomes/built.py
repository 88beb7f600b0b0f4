"""The result of a build or package run."""

from collections.abc import Sequence
from typing import ClassVar

from fabric.model.names import Verb
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.outcomes.remote_use import RemoteUse
from fabric.model.outcomes.shard_share import ShardShare


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
