"""The part of the page's script that places boxes, run by Node for all kinds of folding."""

import json
import subprocess
from typing import Any

import pytest

from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.runtimes.nodejs.toolchain import find_node
from fabric.views.pictures.assets import read_asset
from fabric.views.pictures.draw import draw
from fabric.views.pictures.drawing import build_drawing
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.plans import build, large, plan_of, shop
from tests.views.pictures.test_draw import Page

# The two scripts see the plan through a page of one element.
BEGIN = """
const text = require("fs").readFileSync(0, "utf8");
const document = { getElementById: () => ({ textContent: text }) };
"""
END = """
const seen = [];
function look() {
  placed = place();
  seen.push({
    boxes: [...placed.boxes].map(([key, box]) => ({ key, ...box })),
    lines: placed.lines.map((line) => ({ ...line, path: routeOf(line, placed) })),
  });
}
let placed;
look();
for (const row of lanes.keys()) { state.folded.delete(row); look(); }
for (const row of lanes.keys()) { state.folded.add(row); look(); }
state.shown = new Set(["wait"]); look();
state.shown = new Set(); look();
console.log(JSON.stringify(seen));
"""


def mutual() -> Plan:
    """Services that need each other in turns."""
    return plan_of(
        [
            build("a1", service="a"),
            build("b1", "a1", service="b"),
            build("a2", "b1", service="a"),
            build("b2", "a2", "a1", service="b"),
            build("a3", "b2", "a1", service="a"),
        ],
        {"b2": Action.WAIT},
    )


def looks_of(plan: Plan) -> Any:
    script = BEGIN + read_asset("page_data.js") + read_asset("page_place.js") + END
    done = subprocess.run(
        [str(find_node(ENVIRONMENT)), "-e", script],
        input=Page(draw("html", plan)).texts["plan"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("plan", [shop(), large(40), mutual()], ids=["shop", "large", "mutual"])
def test_boxes_never_overlap_whatever_is_folded(plan: Plan) -> None:
    for look in looks_of(plan):
        columns: dict[float, list[tuple[float, float]]] = {}
        for box in look["boxes"]:
            columns.setdefault(box["x"], []).append((box["y"], box["height"]))
        for column in columns.values():
            floor = float("-inf")
            for top, height in sorted(column):
                assert top >= floor
                floor = top + height


@pytest.mark.parametrize("plan", [shop(), large(40), mutual()], ids=["shop", "large", "mutual"])
def test_every_edge_is_on_one_line_unless_it_is_folded_away(plan: Plan) -> None:
    looks = looks_of(plan)
    everything = looks[len(looks) // 2 - 1]
    assert len(everything["lines"]) == len(build_drawing(plan).remove_implied_edges().edges)
    for look in looks:
        drawn = [edge for line in look["lines"] for edge in line["edges"]]
        assert len(drawn) == len(set(drawn))
        assert not [line for line in look["lines"] if "NaN" in line["path"]]


@pytest.mark.parametrize("plan", [shop(), large(40)], ids=["shop", "large"])
def test_folded_service_is_placed_beside_or_below_its_dependencies(plan: Plan) -> None:
    *_, folded, _, _ = looks_of(plan)
    top = {box["key"]: box["y"] for box in folded["boxes"]}
    needs: dict[str, list[float]] = {}
    for line in folded["lines"]:
        needs.setdefault(line["to"], []).append(top[line["from"]])
    assert needs
    assert [key for key, tops in needs.items() if top[key] < min(tops)] == []


def test_service_without_visible_tasks_is_hidden() -> None:
    *_, waiting, nothing = looks_of(shop())
    assert [box["key"] for box in waiting["boxes"]] == ["lane 2"]
    assert nothing["boxes"] == []
