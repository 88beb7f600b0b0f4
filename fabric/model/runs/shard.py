"""One shard of a run."""

from msgspec import Struct


class Shard(Struct, frozen=True):
    """Parts are numbered from one."""

    number: int
    count: int
