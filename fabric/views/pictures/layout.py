"""The positions of everything: columns by level, and a lane per service."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.views.pictures.drawing import Drawing
from fabric.views.pictures.lane import BOX_HEIGHT, LaneTasks, ServiceLane, build_lane
from fabric.views.pictures.order import sort_services

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
        for service in sort_services(list(services), pairs)
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
