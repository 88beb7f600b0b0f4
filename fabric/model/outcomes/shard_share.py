"""How a run was divided among several machines."""

from fabric.model.outcomes.json_struct import JsonStruct


class ShardShare(JsonStruct, frozen=True):
    """`results` are counts by part, of what nobody else in the run needs; `expected_ms` how long
    each part takes, where that is remembered of all of it."""

    number: int
    count: int
    results: tuple[int, ...]
    expected_ms: tuple[int, ...]
