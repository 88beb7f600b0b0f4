"""A graph of tasks that do nothing, the same for the engine and for dask; built-ins only."""

import random

COUNT = 5000
_NEAR = 50


def needs_of() -> list[list[int]]:
    """Up to two needs for each task, among those shortly before it."""
    chance = random.Random(3)
    return [
        sorted({chance.randrange(max(0, number - _NEAR), number) for _ in range(2)})
        if number
        else []
        for number in range(COUNT)
    ]
