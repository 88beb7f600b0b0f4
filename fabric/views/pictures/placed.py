"""A plan as placed shapes, for a page that draws and updates it itself."""

from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.views.pictures.drawing import Drawing, format_tally
from fabric.views.pictures.lane import ServiceLane
from fabric.views.pictures.layout import Box, Layout, Route, compute_layout
from fabric.views.pictures.svg import (
    MEANINGS,
    PAD,
    SIGNS,
    format_box_texts,
    format_lane_title,
    format_wire_path,
)
from fabric.views.pictures.text import format_headline, format_path_summary


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
            _encode_lane(drawing, *one) for one in zip(layout.lanes, layout.frames, strict=True)
        ],
        "edges": [_encode_edge(drawing, layout, route) for route in layout.routes],
        "nodes": [_encode_node(drawing, number, box) for number, box in enumerate(layout.boxes)],
    }  # fmt: skip


def _encode_lane(drawing: Drawing, lane: ServiceLane, frame: Box) -> Json:
    counts = format_tally(drawing.tally(lane.numbers))
    label, more = format_lane_title(lane.service, counts, frame.width - 2 * PAD)
    return {**_encode_box(frame), "service": lane.service, "label": label, "counts": more}


def _encode_edge(drawing: Drawing, layout: Layout, route: Route) -> Json:
    need, number = drawing.nodes[route.need], drawing.nodes[route.number]
    return {
        "from": need.id,
        "to": number.id,
        "line": format_wire_path(layout.boxes[route.need], layout.boxes[route.number], route.bends),
        "far": need.service != number.service,
        "critical": (route.need, route.number) in drawing.path.edges,
    }


def _encode_node(drawing: Drawing, number: int, box: Box) -> Json:
    node = drawing.nodes[number]
    label, kind = format_box_texts(node)
    return {
        **_encode_box(box),
        "id": node.id,
        "label": label,
        "kind": kind,
        "action": node.action.value,
        "reason": node.reason,
        "took": node.took,
        "critical": number in drawing.path.numbers,
    }


def _encode_box(box: Box) -> JsonObject:
    return {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
