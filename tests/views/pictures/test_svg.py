"""A plan as an SVG picture."""

import re
from xml.etree import ElementTree as ET

from fabric.views.pictures.draw import draw
from fabric.views.pictures.drawing import build_drawing
from fabric.views.pictures.svg import draw_svg
from tests.support.plans import build, plan_of, shop


def test_svg_shows_reasons_and_legend_and_loads_no_external_resources() -> None:
    text = draw("svg", shop())
    root = ET.fromstring(text)  # noqa: S314: our own text
    name = {"svg": "http://www.w3.org/2000/svg"}
    titles = [one.text or "" for one in root.findall(".//svg:g/svg:title", name)]
    assert "build:auth/login\nskip: because" in titles
    assert [one.get("class") for one in root.findall("svg:g", name) if one.get("class")] == [
        "legend run",
        "legend wait",
        "legend skip",
    ]
    assert "prefers-color-scheme: dark" in text
    assert re.findall(r"(?:href|src|@import|url\((?!#))", text) == []


def test_a_picture_is_as_wide_as_its_longest_text() -> None:
    narrow, wide = (
        float(re.findall(r'viewBox="0 0 ([\d.]+)', draw_svg(build_drawing(plan_of(tasks))))[0])
        for tasks in (
            [build("a")],
            [build(str(one), *[str(one - 1)] * (one > 0)) for one in range(9)],
        )
    )
    assert narrow < wide


def test_names_are_escaped() -> None:
    text = draw_svg(build_drawing(plan_of([build("<b>&", service="<i>")])))
    assert "<b>" not in text
    assert ET.fromstring(text) is not None  # noqa: S314: our own text
