"""How a run was divided among several machines."""

from fabric.model.outcomes.json_struct import JsonStruct


class ShardShare(JsonStruct, frozen=True):
    """`results` are the counts of final tasks by shard. `expected_ms` are the shards' durations, if
    all are known."""

    number: int
    count: int
    results: tuple[int, ...]
    expected_ms: tuple[int, ...]
