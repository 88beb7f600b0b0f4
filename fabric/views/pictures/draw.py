"""Diagrams of a plan: each format, and placed shapes for a page that draws and updates them."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from html import escape

from fabric.graph.plan import Plan
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.text.amounts import format_duration
from fabric.views.pictures.assets import read_asset, read_picture_style
from fabric.views.pictures.drawing import (
    Drawing,
    build_drawing,
    encode_node,
    escape_controls,
    format_tally,
    shorten_to_fit,
)
from fabric.views.pictures.lane import BOX_HEIGHT, ServiceLane
from fabric.views.pictures.layout import (
    BOX_WIDTH,
    GUTTER,
    LANE_GAP,
    LANE_HEAD,
    LANE_PAD,
    Box,
    Layout,
    Route,
    build_lanes,
    compute_bends,
    compute_layout,
)
from fabric.views.pictures.svg import (
    MEANINGS,
    NAME_SIZE,
    PAD,
    SIGN_ROOM,
    SIGNS,
    draw_svg,
    format_box_texts,
    format_lane_title,
    format_wire_path,
)
from fabric.views.pictures.text import (
    encode_graph,
    format_dot,
    format_headline,
    format_mermaid,
    format_path_summary,
    format_plan_tree,
)

# A plan as one HTML file: the layout of the picture, with folding, search and details.


FOLD_ABOVE = 150
# In this order: each part uses what the parts before it define.
_PARTS = ("data", "place", "window", "light", "paint", "view", "tell", "walk", "controls")
_SCRIPTS = tuple(f"page_{part}.js" for part in _PARTS)
_GEOMETRY = {
    "boxWidth": BOX_WIDTH,
    "boxHeight": BOX_HEIGHT,
    "gutter": GUTTER,
    "laneHead": LANE_HEAD,
    "lanePad": LANE_PAD,
    "laneGap": LANE_GAP,
}


def _format_page(drawing: Drawing) -> str:
    style = f"{read_picture_style()}\n{read_asset('page.css')}"
    # One closed scope, so that nothing of it meets the names of a page that takes it in.
    script = "(() => {\n" + "\n".join(read_asset(name) for name in _SCRIPTS) + "\n})();"
    values = {
        "title": escape(format_headline(drawing)),
        "path": escape(format_path_summary(drawing)),
        "policy": _build_policy(style, script),
        "style": style,
        "data": _encode_for_script(_encode_drawing(drawing)),
        "script": script,
    }
    text = read_asset("page.html")
    before, *pieces = text.split("{{")
    return before + "".join(_fill_template(piece, values) for piece in pieces)


def _fill_template(piece: str, values: dict[str, str]) -> str:
    name, _, rest = piece.partition("}}")
    return values[name.strip()] + rest


def _build_policy(style: str, script: str) -> str:
    """Build the content security policy: only these two texts as style and script, no requests."""
    hashes = {"style-src": style, "script-src": script}
    rules = [f"{rule} 'sha256-{_hash_text(text)}'" for rule, text in hashes.items()]
    return "; ".join(["default-src 'none'", *rules, "base-uri 'none'", "form-action 'none'"])


def _hash_text(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _encode_for_script(document: dict[str, object]) -> str:
    """Encode JSON for a script element: no tag can begin or end in it."""
    text = json.dumps(document, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _encode_drawing(drawing: Drawing) -> dict[str, object]:
    """Encode the script's data. Edges name nodes by number and bend at the given heights."""
    lanes = build_lanes(drawing)
    return {
        "title": format_headline(drawing),
        "folded": len(drawing.nodes) > FOLD_ABOVE,
        "geometry": _GEOMETRY,
        "signs": {action.value: sign for action, sign in SIGNS.items()},
        "meanings": {action.value: meaning for action, meaning in MEANINGS.items()},
        "tally": {action.value: count for action, count in drawing.tally().items()},
        "path": drawing.path.numbers,
        "lanes": [_encode_lane(drawing, lane) for lane in lanes],
        "nodes": _encode_nodes(drawing, lanes),
        "edges": [
            {"from": need, "to": number, "bends": bends}
            for (need, number), bends in compute_bends(drawing, lanes).items()
        ],
    }


def _encode_lane(drawing: Drawing, lane: ServiceLane) -> dict[str, object]:
    tally = drawing.tally(lane.numbers)
    room = BOX_WIDTH - SIGN_ROOM - PAD
    # Columns between may be taken out where all services in them are folded: two always stay.
    least = BOX_WIDTH * (1 if lane.first == lane.last else 2)
    _, counts = format_lane_title(lane.service, format_tally(tally), least - SIGN_ROOM)
    return {
        "service": escape_controls(lane.service) or "(no service)",
        "label": shorten_to_fit(lane.service or "(no service)", room, NAME_SIZE),
        "nodes": lane.numbers,
        "first": lane.first,
        "last": lane.last,
        "height": lane.height,
        "counts": counts,
        "tally": {action.value: count for action, count in tally.items()},
    }


def _encode_nodes(drawing: Drawing, lanes: tuple[ServiceLane, ...]) -> list[dict[str, object]]:
    place = {number: (row, lane) for row, lane in enumerate(lanes) for number in lane.numbers}
    rows = []
    for number, node in enumerate(drawing.nodes):
        row, lane = place[number]
        label, kind = format_box_texts(node)
        rows.append(
            {
                **encode_node(node),
                "key": node.decision.key,
                "inputs": node.decision.inputs,
                "took": "" if node.decision.took is None else format_duration(node.decision.took),
                "label": label,
                "kindLabel": kind,
                "lane": row,
                "middle": lane.middles[number, node.level],
            }
        )
    return rows


FORMS: Mapping[str, Callable[[Drawing], str]] = {
    "tree": format_plan_tree,
    "dot": format_dot,
    "mermaid": format_mermaid,
    "json": encode_graph,
    "svg": lambda drawing: draw_svg(drawing.remove_implied_edges()),
    "html": lambda drawing: _format_page(drawing.remove_implied_edges()),
}


def draw(form: str, plan: Plan) -> str:
    """Draw the diagram in the given format."""
    if form not in FORMS:
        raise FabricError(
            Problem(
                "usage/unknown-graph",
                f"unknown graph format `{form}`",
                hint="use one of " + ", ".join(FORMS),
            )
        )
    return FORMS[form](build_drawing(plan))


def encode_placed_drawing(drawing: Drawing) -> JsonObject:
    """Encode the drawing. Texts are unescaped: the page must insert them as text."""
    layout = compute_layout(drawing)
    return {
        "title": format_headline(drawing),
        "path": format_path_summary(drawing),
        "width": layout.width,
        "height": layout.height,
        "signs": {action.value: sign for action, sign in SIGNS.items()},
        "meanings": {action.value: meaning for action, meaning in MEANINGS.items()},
        "lanes": [
            _encode_placed_lane(drawing, *one)
            for one in zip(layout.lanes, layout.frames, strict=True)
        ],
        "edges": [_encode_placed_edge(drawing, layout, route) for route in layout.routes],
        "nodes": [
            _encode_placed_node(drawing, number, box) for number, box in enumerate(layout.boxes)
        ],
    }


def _encode_placed_lane(drawing: Drawing, lane: ServiceLane, frame: Box) -> Json:
    counts = format_tally(drawing.tally(lane.numbers))
    label, more = format_lane_title(lane.service, counts, frame.width - 2 * PAD)
    return {**_encode_placed_box(frame), "service": lane.service, "label": label, "counts": more}


def _encode_placed_edge(drawing: Drawing, layout: Layout, route: Route) -> Json:
    need, number = drawing.nodes[route.need], drawing.nodes[route.number]
    return {
        "from": need.id,
        "to": number.id,
        "line": format_wire_path(layout.boxes[route.need], layout.boxes[route.number], route.bends),
        "far": need.service != number.service,
        "critical": (route.need, route.number) in drawing.path.edges,
    }


def _encode_placed_node(drawing: Drawing, number: int, box: Box) -> Json:
    node = drawing.nodes[number]
    label, kind = format_box_texts(node)
    return {
        **_encode_placed_box(box),
        "id": node.id,
        "label": label,
        "kind": kind,
        "action": node.decision.action.value,
        "reason": node.decision.reason,
        "took": node.decision.took,
        "critical": number in drawing.path.numbers,
    }


def _encode_placed_box(box: Box) -> JsonObject:
    return {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
