"""Sealed values in a record: their owner and the result of opening them."""

from msgspec import Struct

from fabric.model.records.record import RecordRef
from fabric.model.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs


class ValueOwner(Struct, frozen=True):
    """The binding of a seal: a function, a record and the hash of its environment."""

    ref: RecordRef
    function: str
    salt: str
    environment_sha256: str


class OpenedValues(Struct, frozen=True):
    """Opened values. Without them `why_not` explains the failure; empty if none were stored."""

    values: Secret[Pairs] = NO_PAIRS
    why_not: str = ""
