"""A plan as shapes for a page that paints it: all that is in the picture, at the same places."""

import json
import re

from fabric.views.pictures.draw import encode_placed_drawing
from fabric.views.pictures.drawing import build_drawing
from fabric.views.pictures.svg import draw_svg
from tests.support.plans import build, plan_of, shop


def test_json_boxes_match_the_svg_positions() -> None:
    drawing = build_drawing(shop()).remove_implied_edges()
    found = json.loads(json.dumps(encode_placed_drawing(drawing)))
    picture = draw_svg(drawing)
    places = re.findall(r'data-id="([^"]+)" transform="translate\(([\d.-]+),([\d.-]+)\)"', picture)
    assert {(one["id"], one["x"], one["y"]) for one in found["nodes"]} == {
        (name, float(x), float(y)) for name, x, y in places
    }
    lines = re.findall(r'data-from="([^"]+)" data-to="([^"]+)" d="([^"]+)"', picture)
    assert {(one["from"], one["to"], one["line"]) for one in found["edges"]} == set(lines)
    assert {one["service"] for one in found["lanes"]} == set(drawing.services)


def test_texts_are_as_they_are() -> None:
    plan = plan_of([build("<b>&", service="<i>")])
    found = json.loads(json.dumps(encode_placed_drawing(build_drawing(plan))))
    (node,) = found["nodes"]
    assert (node["id"], node["label"], node["action"]) == ("<b>&", "<b>&", "run")
    assert found["lanes"][0]["service"] == "<i>"


def test_a_plan_without_tasks_is_an_empty_picture() -> None:
    found = encode_placed_drawing(build_drawing(plan_of([])))
    assert (found["nodes"], found["width"], found["height"]) == ([], 0.0, 0.0)
