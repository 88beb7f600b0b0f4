"""A plan as placed shapes, for a page that draws and updates it itself."""

from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.views.pictures.drawing import Drawing
from fabric.views.pictures.lane import ServiceLane
from fabric.views.pictures.layout import Box, Layout, Route, lay_out
from fabric.views.pictures.lettering import tally_words
from fabric.views.pictures.svg import MEANINGS, PAD, SIGNS, box_words, lane_title, path
from fabric.views.pictures.text import headline, path_words


def placed(drawing: Drawing) -> JsonObject:
    """Encode the drawing. Texts are unescaped: the page must insert them as text."""
    layout = lay_out(drawing)
    return {
        "title": headline(drawing),
        "path": path_words(drawing),
        "width": layout.width,
        "height": layout.height,
        "signs": {action.value: sign for action, sign in SIGNS.items()},
        "meanings": {action.value: meaning for action, meaning in MEANINGS.items()},
        "lanes": [
            _lane(drawing, *one) for one in zip(layout.lanes, layout.frames, strict=True)
        ],
        "edges": [_edge(drawing, layout, route) for route in layout.routes],
        "nodes": [_node(drawing, number, box) for number, box in enumerate(layout.boxes)],
    }  # fmt: skip


def _lane(drawing: Drawing, lane: ServiceLane, frame: Box) -> Json:
    counts = tally_words(drawing.tally(lane.numbers))
    label, more = lane_title(lane.service, counts, frame.width - 2 * PAD)
    return {**_box(frame), "service": lane.service, "label": label, "counts": more}


def _edge(drawing: Drawing, layout: Layout, route: Route) -> Json:
    need, number = drawing.nodes[route.need], drawing.nodes[route.number]
    return {
        "from": need.id,
        "to": number.id,
        "line": path(layout.boxes[route.need], layout.boxes[route.number], route.bends),
        "far": need.service != number.service,
        "critical": (route.need, route.number) in drawing.path.edges,
    }


def _node(drawing: Drawing, number: int, box: Box) -> Json:
    node = drawing.nodes[number]
    label, kind = box_words(node)
    return {
        **_box(box),
        "id": node.id,
        "label": label,
        "kind": kind,
        "action": node.action.value,
        "reason": node.reason,
        "took": node.took,
        "critical": number in drawing.path.numbers,
    }


def _box(box: Box) -> JsonObject:
    return {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
