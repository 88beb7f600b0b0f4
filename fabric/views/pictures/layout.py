"""The positions of everything: columns by level, and a lane per service."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.views.pictures.drawing import Drawing
from fabric.views.pictures.lane import BOX_HEIGHT, LaneTasks, ServiceLane, build_lane

BOX_WIDTH = 206.0
GUTTER = 74.0
STEP = BOX_WIDTH + GUTTER
LANE_HEAD = 26.0
LANE_PAD = 12.0
LANE_GAP = 14.0


class Box(Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


class Route(Struct, frozen=True):
    """The line of an edge: heights in the columns that it passes, from its need to its end."""

    need: int
    number: int
    bends: tuple[float, ...]


class Layout(Struct, frozen=True):
    """All lanes from top to bottom with frames, a box per node, and a route per edge."""

    lanes: tuple[ServiceLane, ...]
    frames: tuple[Box, ...]
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    levels: int

    @property
    def width(self) -> float:
        return max((frame.right for frame in self.frames), default=0.0)

    @property
    def height(self) -> float:
        return max((frame.bottom for frame in self.frames), default=0.0)


def compute_layout(drawing: Drawing) -> Layout:
    lanes = build_lanes(drawing)
    frames = _compute_frames(lanes)
    boxes: dict[int, Box] = {}
    tops: dict[int, float] = {}
    for lane, frame in zip(lanes, frames, strict=True):
        for number in lane.numbers:
            level = drawing.nodes[number].level
            tops[number] = frame.y + LANE_HEAD
            y = tops[number] + lane.middles[number, level] - BOX_HEIGHT / 2
            boxes[number] = Box(level * STEP, y, BOX_WIDTH, BOX_HEIGHT)
    return Layout(
        lanes=lanes,
        frames=frames,
        boxes=tuple(boxes[number] for number in range(len(drawing.nodes))),
        routes=tuple(
            Route(need, number, tuple(tops[need] + height for height in heights))
            for (need, number), heights in compute_bends(drawing, lanes).items()
        ),
        levels=max((node.level for node in drawing.nodes), default=-1) + 1,
    )


def build_lanes(drawing: Drawing) -> tuple[ServiceLane, ...]:
    nodes = drawing.nodes
    services = drawing.services
    pairs = [(nodes[need].service, nodes[number].service) for need, number in drawing.edges]
    reaches = _find_last_columns(drawing)
    inner: dict[str, list[tuple[int, int]]] = {service: [] for service in services}
    for need, number in drawing.edges:
        if nodes[need].service == nodes[number].service:
            inner[nodes[need].service].append((need, number))
    return tuple(
        build_lane(_build_lane_tasks(drawing, services[service], reaches, inner[service]))
        for service in _sort_services(list(services), pairs)
    )


def compute_bends(
    drawing: Drawing, lanes: Sequence[ServiceLane]
) -> dict[tuple[int, int], tuple[float, ...]]:
    """Compute for each edge the wire heights in the columns between, within the lane."""
    middles = {spot: height for lane in lanes for spot, height in lane.middles.items()}
    nodes = drawing.nodes
    return {
        (need, number): tuple(
            middles[need, level] for level in range(nodes[need].level + 1, nodes[number].level)
        )
        for need, number in drawing.edges
    }


def _find_last_columns(drawing: Drawing) -> dict[int, int]:
    """The last column that the wire of each node passes."""
    nodes = drawing.nodes
    reaches = {number: node.level for number, node in enumerate(nodes)}
    for need, number in drawing.edges:
        reaches[need] = max(reaches[need], nodes[number].level - 1)
    return reaches


def _build_lane_tasks(
    drawing: Drawing,
    numbers: Sequence[int],
    reaches: Mapping[int, int],
    inner: Sequence[tuple[int, int]],
) -> LaneTasks:
    """Build the lane's tasks, ordered by function name, so that each function starts with its own
    row."""
    nodes = drawing.nodes
    ordered = sorted(numbers, key=lambda one: (nodes[one].function, nodes[one].id))
    return LaneTasks(
        nodes[ordered[0]].service,
        {number: nodes[number].level for number in ordered},
        {number: reaches[number] for number in ordered},
        inner,
    )


def _compute_frames(lanes: Sequence[ServiceLane]) -> tuple[Box, ...]:
    """Compute the frames: each lane is below all boxes and wires in its columns."""
    skyline: dict[int, float] = {}
    frames = []
    for lane in lanes:
        columns = range(lane.first, lane.reach + 1)
        top = max((skyline.get(column, 0.0) for column in columns), default=0.0)
        height = LANE_HEAD + lane.height + LANE_PAD
        skyline.update(dict.fromkeys(columns, top + height + LANE_GAP))
        width = (lane.last - lane.first) * STEP + BOX_WIDTH + 2 * LANE_PAD
        frames.append(Box(lane.first * STEP - LANE_PAD, top, width, height))
    return tuple(frames)


_SWEEPS = 12

Links = Mapping[str, Mapping[str, int]]


def _sort_services(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Sort the services for short links: by averaging, keeping the best round, then by swaps."""
    links = _map_links(names, pairs)
    order = _walk(sorted(names), links)
    best, least = order, _measure_length(order, links)
    for _ in range(_SWEEPS):
        order = _sort_by_average(order, links)
        if (length := _measure_length(order, links)) < least:
            best, least = order, length
    return _swap_neighbors(best, links)


def _map_links(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Links:
    links: dict[str, dict[str, int]] = {name: {} for name in names}
    for one, other in pairs:
        if one != other:
            links[one][other] = links[one].get(other, 0) + 1
            links[other][one] = links[other].get(one, 0) + 1
    return links


def _walk(names: Sequence[str], links: Links) -> list[str]:
    """Traverse depth first from the first name, so that connected services stay together."""
    found: dict[str, None] = {}
    for root in names:
        waiting = [root]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = None
                waiting.extend(sorted(links[name], reverse=True))
    return list(found)


def _measure_length(order: Sequence[str], links: Links) -> int:
    place = {name: position for position, name in enumerate(order)}
    return sum(
        count * abs(place[one] - place[other])
        for one, others in links.items()
        for other, count in others.items()
    )


def _sort_by_average(order: Sequence[str], links: Links) -> list[str]:
    place = {name: position for position, name in enumerate(order)}

    def compute_middle(name: str) -> tuple[float, int]:
        total = sum(place[other] * count for other, count in links[name].items()) + place[name]
        return total / (sum(links[name].values()) + 1), place[name]

    return sorted(order, key=compute_middle)


def _swap_neighbors(order: Sequence[str], links: Links) -> list[str]:
    result = list(order)
    place = {name: position for position, name in enumerate(result)}
    for _ in range(_SWEEPS):
        moved = False
        for left in range(len(result) - 1):
            if _compute_gain(result[left], result[left + 1], links, place) > 0:
                result[left], result[left + 1] = result[left + 1], result[left]
                place[result[left]], place[result[left + 1]] = left, left + 1
                moved = True
        if not moved:
            break
    return result


def _compute_gain(upper: str, lower: str, links: Links, place: Mapping[str, int]) -> int:
    """How much shorter the links get when two neighbours change places."""
    line = place[upper]
    down = sum(c if place[o] > line else -c for o, c in links[upper].items() if o != lower)
    up = sum(c if place[o] <= line else -c for o, c in links[lower].items() if o != upper)
    return down + up
