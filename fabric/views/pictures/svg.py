"""A plan as one SVG picture: no script, light and dark, reasons as tooltips."""

from collections.abc import Iterable
from html import escape

from fabric.graph.decide import Action
from fabric.views.pictures.assets import read_picture_style
from fabric.views.pictures.drawing import (
    Drawing,
    Node,
    escape_controls,
    format_tally,
    measure_width,
    shorten_to_fit,
)
from fabric.views.pictures.lane import ServiceLane
from fabric.views.pictures.layout import BOX_WIDTH, GUTTER, STEP, Box, Layout, Route, compute_layout
from fabric.views.pictures.text import format_headline, format_path_summary

MARGIN = 32.0
TOP = 128.0
LEAST_WIDTH = 640.0
# Names are set in 12 pixels, some of them bold, which is as wide as 13.
NAME_SIZE, KIND_SIZE = 13.0, 10.0
SIGN_ROOM, PAD = 28.0, 10.0
HALO = 3.0

# A triangle to run, an hourglass to wait, a tick for up to date; drawn around the middle.
SIGNS = {
    Action.RUN: "M-3.5,-4.5L4,0L-3.5,4.5Z",
    Action.WAIT: "M-3.5,-5H3.5L-3.5,5H3.5Z",
    Action.SKIP: "M-4,0.5L-1.2,3.5L4.5,-3.5",
}
MEANINGS = {Action.RUN: "will run", Action.WAIT: "is pending", Action.SKIP: "is up to date"}
_LEGEND = {Action.RUN: "run", Action.WAIT: "pending: known later", Action.SKIP: "up to date"}


def draw_svg(drawing: Drawing) -> str:
    layout = compute_layout(drawing)
    words = measure_width(format_path_summary(drawing), NAME_SIZE) + 31
    across = max(layout.width, LEAST_WIDTH, words) + 2 * MARGIN
    down = layout.height + TOP + MARGIN
    title = format_headline(drawing)
    return "\n".join(
        (
            *_draw_head(title, across, down),
            *_draw_legend(title, drawing),
            f'<g transform="translate({_round(MARGIN)},{_round(TOP)})">',
            *_draw_columns(layout),
            *(_draw_lane(drawing, *one) for one in zip(layout.lanes, layout.frames, strict=True)),
            *_draw_edges(drawing, layout),
            *(_draw_node(drawing, *one) for one in enumerate(layout.boxes)),
            "</g>",
            "</svg>",
        )
    )


def _draw_head(title: str, across: float, down: float) -> Iterable[str]:
    width, height = _round(across), _round(down)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" class="fabric" role="img" {size}>'
    yield f"<title>{_escape_text(title)}</title>"
    yield f"<style>{read_picture_style()}</style>"
    yield (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path class="head" d="M0,0.5L7.5,4L0,7.5Z"/>'
        "</marker>"
        '<marker id="head-path" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4" '
        'markerHeight="4" orient="auto"><path class="head" d="M0,0.5L7.5,4L0,7.5Z"/>'
        "</marker></defs>"
    )
    yield f'<rect class="back" width="{_round(across)}" height="{_round(down)}"/>'


def _draw_legend(title: str, drawing: Drawing) -> Iterable[str]:
    yield f'<text class="headline" x="{_round(MARGIN)}" y="38">{_escape_text(title)}</text>'
    x = MARGIN
    tally = drawing.tally()
    for action, words in _LEGEND.items():
        text = f"{words} ({tally[action]})"
        yield (
            f'<g class="legend {action.value}" transform="translate({_round(x)},52)">'
            f'<rect class="box" width="24" height="18" rx="5"/>{_sign(action, 12, 9)}</g>'
        )
        yield f'<text x="{_round(x + 31)}" y="65">{_escape_text(text)}</text>'
        x += 31 + measure_width(text, NAME_SIZE) + 22
    if words := format_path_summary(drawing):
        yield f'<path class="edge critical" d="M{_round(MARGIN)},84h24"/>'
        yield f'<text x="{_round(MARGIN + 31)}" y="88">{_escape_text(words)}</text>'


def _draw_columns(layout: Layout) -> Iterable[str]:
    for level in range(layout.levels):
        x = level * STEP
        yield f'<text class="quiet" x="{_round(x)}" y="-10">level {level}</text>'
        if level:
            line = _round(x - GUTTER / 2)
            yield f'<path class="rule" d="M{line},-22V{_round(layout.height)}"/>'


def _draw_lane(drawing: Drawing, lane: ServiceLane, frame: Box) -> str:
    counts = format_tally(drawing.tally(lane.numbers))
    name, more = format_lane_title(lane.service, counts, frame.width - 2 * PAD)
    rest = (
        f'<tspan class="quiet" dx="10" font-weight="400">{_escape_text(more)}</tspan>'
        if more
        else ""
    )
    return (
        f'<g class="lane"><title>{_escape_text(f"{lane.service}: {counts}")}</title>'
        f'<rect class="frame" x="{_round(frame.x)}" y="{_round(frame.y)}" '
        f'width="{_round(frame.width)}" '
        f'height="{_round(frame.height)}" rx="10"/>'
        f'<text class="service" x="{_round(frame.x + PAD + 2)}" y="{_round(frame.y + 18)}">'
        f"{_escape_text(name)}{rest}</text></g>"
    )


def format_lane_title(service: str, counts: str, room: float) -> tuple[str, str]:
    """The name, and the counts too if both fit."""
    name = shorten_to_fit(service or "(no service)", room, NAME_SIZE)
    left = room - measure_width(name, NAME_SIZE) - PAD
    return name, counts if measure_width(counts, KIND_SIZE + 1) <= left else ""


def _draw_edges(drawing: Drawing, layout: Layout) -> Iterable[str]:
    """Draw the edges, with the critical path last and above all others."""
    path = drawing.path.edges
    last = [route for route in layout.routes if (route.need, route.number) in path]
    for route in layout.routes:
        if (route.need, route.number) not in path:
            yield _draw_edge(drawing, layout, route, "")
    for route in last:
        yield _draw_edge(drawing, layout, route, " critical")


def _draw_edge(drawing: Drawing, layout: Layout, route: Route, more: str) -> str:
    need, number = drawing.nodes[route.need], drawing.nodes[route.number]
    far = "" if need.service == number.service else " far"
    line = format_wire_path(layout.boxes[route.need], layout.boxes[route.number], route.bends)
    return (
        f'<path class="edge{far}{more}" data-from="{_escape_text(need.id)}" '
        f'data-to="{_escape_text(number.id)}" '
        f'd="{line}" marker-end="url(#head{"-path" * bool(more)})"/>'
    )


def format_wire_path(start: Box, end: Box, bends: tuple[float, ...]) -> str:
    """From box to box: level through the columns between, bent in the gutters only."""
    x, y = start.right, start.middle
    parts = [f"M{_round(x)},{_round(y)}"]
    for height in bends:
        parts += [_format_bend(x, y, height), f"h{_round(BOX_WIDTH)}"]
        x, y = x + STEP, height
    return "".join([*parts, _format_bend(x, y, end.middle)])


def _format_bend(x: float, y: float, height: float) -> str:
    right = x + GUTTER
    if height == y:
        return f"H{_round(right)}"
    middle = _round(x + GUTTER / 2)
    return f"C{middle},{_round(y)} {middle},{_round(height)} {_round(right)},{_round(height)}"


def _draw_node(drawing: Drawing, number: int, box: Box) -> str:
    node = drawing.nodes[number]
    critical = number in drawing.path.numbers
    name, kind = format_box_texts(node)
    words = f"{node.id}\n{node.decision.action.value}: {node.decision.reason}"
    baseline = _round(box.height / 2 + 4)
    return (
        f'<g class="node {node.decision.action.value}{" critical" * critical}" '
        f'data-id="{_escape_text(node.id)}" '
        f'transform="translate({_round(box.x)},{_round(box.y)})">'
        f"<title>{_escape_text(words)}</title>"
        f"{_draw_halo(box.width, box.height) if critical else ''}"
        f'<rect class="box" width="{_round(box.width)}" height="{_round(box.height)}" rx="7"/>'
        f"{_sign(node.decision.action, SIGN_ROOM / 2 + 1, box.height / 2)}"
        f'<text x="{_round(SIGN_ROOM)}" y="{baseline}">{_escape_text(name)}</text>'
        f'<text class="kind" x="{_round(box.width - PAD)}" y="{baseline}" text-anchor="end">'
        f"{_escape_text(kind)}</text></g>"
    )


def format_box_texts(node: Node) -> tuple[str, str]:
    """The name and the kind of a task, as they fit into its box."""
    kind = shorten_to_fit(node.kind, BOX_WIDTH / 2, KIND_SIZE)
    room = BOX_WIDTH - SIGN_ROOM - 2 * PAD - measure_width(kind, KIND_SIZE)
    return shorten_to_fit(node.name, room, NAME_SIZE), kind


def _draw_halo(across: float, down: float) -> str:
    """Around a box, so that its own colour and dashes stay."""
    size = f'width="{_round(across + 2 * HALO)}" height="{_round(down + 2 * HALO)}"'
    return f'<rect class="halo" x="{_round(-HALO)}" y="{_round(-HALO)}" {size} rx="10"/>'


def _sign(action: Action, x: float, y: float) -> str:
    return (
        f'<path class="sign" transform="translate({_round(x)},{_round(y)})" d="{SIGNS[action]}"/>'
    )


def _escape_text(text: str) -> str:
    return escape("\n".join(escape_controls(line) for line in text.split("\n")))


def _round(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
