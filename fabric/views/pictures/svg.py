"""A plan as one SVG picture: no script, light and dark, reasons as tooltips."""

from collections.abc import Iterable
from html import escape
from itertools import chain

from fabric.graph.decide import Action
from fabric.views.pictures.assets import picture_style
from fabric.views.pictures.drawing import Drawing, Node
from fabric.views.pictures.lane import ServiceLane
from fabric.views.pictures.layout import BOX_WIDTH, GUTTER, STEP, Box, Layout, Route, lay_out
from fabric.views.pictures.lettering import fitted, printable, tally_words, width
from fabric.views.pictures.text import headline, path_words

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


def svg(drawing: Drawing) -> str:
    layout = lay_out(drawing)
    words = width(path_words(drawing), NAME_SIZE) + 31
    across = max(layout.width, LEAST_WIDTH, words) + 2 * MARGIN
    down = layout.height + TOP + MARGIN
    title = headline(drawing)
    parts = chain(
        _head(title, across, down),
        _legend(title, drawing),
        [f'<g transform="translate({_n(MARGIN)},{_n(TOP)})">'],
        _columns(layout),
        (_lane(drawing, *one) for one in zip(layout.lanes, layout.frames, strict=True)),
        _edges(drawing, layout),
        (_node(drawing, *one) for one in enumerate(layout.boxes)),
        ["</g>", "</svg>"],
    )
    return "\n".join(parts)


def _head(title: str, across: float, down: float) -> Iterable[str]:
    size = f'width="{_n(across)}" height="{_n(down)}" viewBox="0 0 {_n(across)} {_n(down)}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" class="fabric" role="img" {size}>'
    yield f"<title>{_text(title)}</title>"
    yield f"<style>{picture_style()}</style>"
    yield (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path class="head" d="M0,0.5L7.5,4L0,7.5Z"/>'
        "</marker>"
        '<marker id="head-path" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4" '
        'markerHeight="4" orient="auto"><path class="head" d="M0,0.5L7.5,4L0,7.5Z"/>'
        "</marker></defs>"
    )
    yield f'<rect class="back" width="{_n(across)}" height="{_n(down)}"/>'


def _legend(title: str, drawing: Drawing) -> Iterable[str]:
    yield f'<text class="headline" x="{_n(MARGIN)}" y="38">{_text(title)}</text>'
    x = MARGIN
    tally = drawing.tally()
    for action, words in _LEGEND.items():
        text = f"{words} ({tally[action]})"
        yield (
            f'<g class="legend {action.value}" transform="translate({_n(x)},52)">'
            f'<rect class="box" width="24" height="18" rx="5"/>{_sign(action, 12, 9)}</g>'
        )
        yield f'<text x="{_n(x + 31)}" y="65">{_text(text)}</text>'
        x += 31 + width(text, NAME_SIZE) + 22
    if words := path_words(drawing):
        yield f'<path class="edge critical" d="M{_n(MARGIN)},84h24"/>'
        yield f'<text x="{_n(MARGIN + 31)}" y="88">{_text(words)}</text>'


def _columns(layout: Layout) -> Iterable[str]:
    for level in range(layout.levels):
        x = level * STEP
        yield f'<text class="quiet" x="{_n(x)}" y="-10">level {level}</text>'
        if level:
            line = _n(x - GUTTER / 2)
            yield f'<path class="rule" d="M{line},-22V{_n(layout.height)}"/>'


def _lane(drawing: Drawing, lane: ServiceLane, frame: Box) -> str:
    counts = tally_words(drawing.tally(lane.numbers))
    name, more = lane_title(lane.service, counts, frame.width - 2 * PAD)
    rest = f'<tspan class="quiet" dx="10" font-weight="400">{_text(more)}</tspan>' if more else ""
    return (
        f'<g class="lane"><title>{_text(f"{lane.service}: {counts}")}</title>'
        f'<rect class="frame" x="{_n(frame.x)}" y="{_n(frame.y)}" width="{_n(frame.width)}" '
        f'height="{_n(frame.height)}" rx="10"/>'
        f'<text class="service" x="{_n(frame.x + PAD + 2)}" y="{_n(frame.y + 18)}">'
        f"{_text(name)}{rest}</text></g>"
    )


def lane_title(service: str, counts: str, room: float) -> tuple[str, str]:
    """The name, and the counts too if both fit."""
    name = fitted(service or "(no service)", room, NAME_SIZE)
    left = room - width(name, NAME_SIZE) - PAD
    return name, counts if width(counts, KIND_SIZE + 1) <= left else ""


def _edges(drawing: Drawing, layout: Layout) -> Iterable[str]:
    """Draw the edges, with the critical path last and above all others."""
    path = drawing.path.edges
    last = [route for route in layout.routes if (route.need, route.number) in path]
    for route in layout.routes:
        if (route.need, route.number) not in path:
            yield _edge(drawing, layout, route, "")
    for route in last:
        yield _edge(drawing, layout, route, " critical")


def _edge(drawing: Drawing, layout: Layout, route: Route, more: str) -> str:
    need, number = drawing.nodes[route.need], drawing.nodes[route.number]
    far = "" if need.service == number.service else " far"
    line = path(layout.boxes[route.need], layout.boxes[route.number], route.bends)
    return (
        f'<path class="edge{far}{more}" data-from="{_text(need.id)}" data-to="{_text(number.id)}" '
        f'd="{line}" marker-end="url(#head{"-path" * bool(more)})"/>'
    )


def path(start: Box, end: Box, bends: tuple[float, ...]) -> str:
    """From box to box: level through the columns between, bent in the gutters only."""
    x, y = start.right, start.middle
    parts = [f"M{_n(x)},{_n(y)}"]
    for height in bends:
        parts += [_bend(x, y, height), f"h{_n(BOX_WIDTH)}"]
        x, y = x + STEP, height
    return "".join([*parts, _bend(x, y, end.middle)])


def _bend(x: float, y: float, height: float) -> str:
    right = x + GUTTER
    if height == y:
        return f"H{_n(right)}"
    middle = _n(x + GUTTER / 2)
    return f"C{middle},{_n(y)} {middle},{_n(height)} {_n(right)},{_n(height)}"


def _node(drawing: Drawing, number: int, box: Box) -> str:
    node = drawing.nodes[number]
    critical = number in drawing.path.numbers
    name, kind = box_words(node)
    words = f"{node.id}\n{node.action.value}: {node.reason}"
    baseline = _n(box.height / 2 + 4)
    return (
        f'<g class="node {node.action.value}{" critical" * critical}" data-id="{_text(node.id)}" '
        f'transform="translate({_n(box.x)},{_n(box.y)})">'
        f"<title>{_text(words)}</title>"
        f"{_halo(box.width, box.height) if critical else ''}"
        f'<rect class="box" width="{_n(box.width)}" height="{_n(box.height)}" rx="7"/>'
        f"{_sign(node.action, SIGN_ROOM / 2 + 1, box.height / 2)}"
        f'<text x="{_n(SIGN_ROOM)}" y="{baseline}">{_text(name)}</text>'
        f'<text class="kind" x="{_n(box.width - PAD)}" y="{baseline}" text-anchor="end">'
        f"{_text(kind)}</text></g>"
    )


def box_words(node: Node) -> tuple[str, str]:
    """The name and the kind of a task, as they fit into its box."""
    kind = fitted(node.kind, BOX_WIDTH / 2, KIND_SIZE)
    room = BOX_WIDTH - SIGN_ROOM - 2 * PAD - width(kind, KIND_SIZE)
    return fitted(node.name, room, NAME_SIZE), kind


def _halo(across: float, down: float) -> str:
    """Around a box, so that its own colour and dashes stay."""
    size = f'width="{_n(across + 2 * HALO)}" height="{_n(down + 2 * HALO)}"'
    return f'<rect class="halo" x="{_n(-HALO)}" y="{_n(-HALO)}" {size} rx="10"/>'


def _sign(action: Action, x: float, y: float) -> str:
    return f'<path class="sign" transform="translate({_n(x)},{_n(y)})" d="{SIGNS[action]}"/>'


def _text(text: str) -> str:
    return escape("\n".join(printable(line) for line in text.split("\n")))


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
