"""One service as a lane: columns by level, few crossings, straight lines if possible.

A task used beyond the next column has a wire, a narrow spot in each column between, so that no line
runs behind a box.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct

BOX_HEIGHT = 30.0
BOX_GAP = 10.0
WIRE_GAP = 9.0
_SWEEPS = 6
_WIRE_WEIGHT = 3.0

# A task is (number, its level); the wire of the same task is (number, a level further right).
Spot: TypeAlias = tuple[int, int]


class ServiceLane(Struct, frozen=True):
    """Heights of all locations, measured from the lane's top to the middle of a box or wire."""

    service: str
    numbers: tuple[int, ...]
    first: int
    last: int
    reach: int
    height: float
    middles: Mapping[Spot, float]


class LaneTasks(Struct, frozen=True):
    """The tasks of one service, in a good first order, and how far right each one is used."""

    service: str
    levels: Mapping[int, int]
    reaches: Mapping[int, int]
    inner: Sequence[tuple[int, int]]


class _Net(Struct, frozen=True):
    columns: list[list[Spot]]
    left: Mapping[Spot, list[Spot]]
    right: Mapping[Spot, list[Spot]]
    boxes: frozenset[Spot]


def build_lane(tasks: LaneTasks) -> ServiceLane:
    net = _build_net(tasks)
    _reduce_crossings(net)
    middles = _place_spots(net)
    top = min((middles[spot] - _compute_half_height(spot, net) for spot in middles), default=0.0)
    middles = {spot: middle - top for spot, middle in middles.items()}
    bottom = max((middles[spot] + _compute_half_height(spot, net) for spot in middles), default=0.0)
    return ServiceLane(
        tasks.service,
        tuple(tasks.levels),
        first=min(tasks.levels.values()),
        last=max(tasks.levels.values()),
        reach=max(*tasks.reaches.values(), *tasks.levels.values()),
        height=bottom,
        middles=middles,
    )


def _build_net(tasks: LaneTasks) -> _Net:
    locations = [
        (number, level)
        for number, own in tasks.levels.items()
        for level in range(own, max(own, tasks.reaches[number]) + 1)
    ]
    left: dict[Spot, list[Spot]] = {spot: [] for spot in locations}
    right: dict[Spot, list[Spot]] = {spot: [] for spot in locations}
    along = [((n, level - 1), (n, level)) for n, level in locations if level > tasks.levels[n]]
    ends = [
        ((need, tasks.levels[number] - 1), (number, tasks.levels[number]))
        for need, number in tasks.inner
    ]
    for one, other in (*along, *ends):
        right[one].append(other)
        left[other].append(one)
    columns: dict[int, list[Spot]] = {}
    for spot in locations:
        columns.setdefault(spot[1], []).append(spot)
    boxes = frozenset(tasks.levels.items())
    return _Net([columns[level] for level in sorted(columns)], left, right, boxes)


def _reduce_crossings(net: _Net) -> None:
    """Reduce crossings by repeated averaging, and keep the best order."""
    best, least = [list(column) for column in net.columns], count_crossings(net.columns, net.right)
    for sweep in range(_SWEEPS):
        if not least:
            break
        forth = sweep % 2 == 0
        for column in net.columns if forth else reversed(net.columns):
            _sort_by_neighbours(column, net.left if forth else net.right, net.columns)
        if (count := count_crossings(net.columns, net.right)) < least:
            best, least = [list(column) for column in net.columns], count
    net.columns[:] = best


def _sort_by_neighbours(
    column: list[Spot], sides: Mapping[Spot, list[Spot]], columns: list[list[Spot]]
) -> None:
    wanted = {spot for one in column for spot in sides[one]}
    place = {
        spot: position
        for other in columns
        if other is not column
        for position, spot in enumerate(other)
        if spot in wanted
    }
    own = {spot: position for position, spot in enumerate(column)}

    def compute_middle(spot: Spot) -> tuple[float, int]:
        seen = [place[other] for other in sides[spot]]
        return (sum(seen) / len(seen) if seen else own[spot]), own[spot]

    column.sort(key=compute_middle)


def count_crossings(columns: Sequence[Sequence[Spot]], right: Mapping[Spot, Sequence[Spot]]) -> int:
    """How many pairs of lines cross between neighbouring columns."""
    total = 0
    for column, following in pairwise(columns):
        place = {spot: position for position, spot in enumerate(following)}
        ends = [end for spot in column for end in sorted(place[one] for one in right[spot])]
        total += _count_inversions(ends)
    return total


def _count_inversions(row: Sequence[int]) -> int:
    """Counted while merging, so that wide columns stay cheap."""
    return _merge_sort(list(row))[1]


def _merge_sort(row: list[int]) -> tuple[list[int], int]:
    if len(row) < 2:  # noqa: PLR2004
        return row, 0
    half = len(row) // 2
    upper, first = _merge_sort(row[:half])
    lower, second = _merge_sort(row[half:])
    merged: list[int] = []
    count, at = first + second, 0
    for one in upper:
        while at < len(lower) and lower[at] < one:
            merged.append(lower[at])
            at += 1
        merged.append(one)
        count += at
    return merged + lower[at:], count


def _compute_half_height(spot: Spot, net: _Net) -> float:
    return BOX_HEIGHT / 2 if spot in net.boxes else 0.0


def _measure_distance(upper: Spot, lower: Spot, net: _Net) -> float:
    both = upper in net.boxes and lower in net.boxes
    return (
        _compute_half_height(upper, net)
        + _compute_half_height(lower, net)
        + (BOX_GAP if both else WIRE_GAP)
    )


def _place_spots(net: _Net) -> dict[Spot, float]:
    """Place each spot as near to its neighbors' middle as the column order permits."""
    middles: dict[Spot, float] = {}
    for column in net.columns:
        height = 0.0
        for position, spot in enumerate(column):
            height += _measure_distance(column[position - 1], spot, net) if position else 0.0
            middles[spot] = height
    for sweep in range(2 * _SWEEPS):
        forth = sweep % 2 == 0
        sides = net.left if forth else net.right
        for column in net.columns if forth else reversed(net.columns):
            _settle(column, sides, middles, net)
    return {spot: round(middle) for spot, middle in _spread(net, middles).items()}


def _spread(net: _Net, middles: dict[Spot, float]) -> dict[Spot, float]:
    """Check each column again, because rounding can place two spots half a pixel too close."""
    for column in net.columns:
        floor = float("-inf")
        for position, spot in enumerate(column):
            if position:
                floor = middles[column[position - 1]] + _measure_distance(
                    column[position - 1], spot, net
                )
            middles[spot] = float(max(round(middles[spot]), floor))
    return middles


def _settle(
    column: Sequence[Spot],
    sides: Mapping[Spot, list[Spot]],
    middles: dict[Spot, float],
    net: _Net,
) -> None:
    """Least squares under an order: blocks of locations that push each other move as one."""
    offsets = [0.0]
    for upper, lower in pairwise(column):
        offsets.append(offsets[-1] + _measure_distance(upper, lower, net))
    blocks: list[tuple[float, float, int]] = []
    for spot, offset in zip(column, offsets, strict=True):
        near = [middles[other] for other in sides[spot]] or [middles[spot]]
        weight = 1.0 if spot in net.boxes else _WIRE_WEIGHT
        value, count = sum(near) / len(near) - offset, 1
        while blocks and blocks[-1][0] > value:
            above, heavy, size = blocks.pop()
            value = (above * heavy + value * weight) / (heavy + weight)
            weight, count = weight + heavy, count + size
        blocks.append((value, weight, count))
    settled = [value for value, _, count in blocks for _ in range(count)]
    for spot, value, offset in zip(column, settled, offsets, strict=True):
        middles[spot] = value + offset
