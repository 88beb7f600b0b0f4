"""Pictures of a plan: every form is read back."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given

from fabric.graph.plan import Plan
from fabric.model.problems import FabricError
from fabric.views.pictures.draw import FOLD_ABOVE, FORMS, draw, encode_placed_drawing
from fabric.views.pictures.drawing import build_drawing
from fabric.views.pictures.svg import draw_svg
from tests.support.plans import any_plans, build, plan_of, shop

Picture = tuple[list[str], list[tuple[str, str]]]
HOSTILE = '</script><img src=x onerror=alert(1)> "quoted" & \\ \' `x` ]]> -->'


THINNED = ("svg", "html")


def check_whole(form: str, plan: Plan) -> None:
    """Each node once, each edge once; what is drawn may leave out what two other edges say."""
    nodes, edges = READERS[form](draw(form, plan))
    all_nodes, all_edges = wanted(plan)
    assert nodes == all_nodes
    if form not in THINNED:
        assert edges == all_edges
        return
    assert len(set(edges)) == len(edges)
    assert set(edges) <= set(all_edges)
    assert _reach(edges) == _reach(all_edges)


def _reach(edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Everything that leads to something, in however many steps."""
    closed: nx.DiGraph[str] = nx.transitive_closure(nx.DiGraph(edges))
    return set(closed.edges)


def wanted(plan: Plan) -> Picture:
    graph = plan.graph
    edges = [(graph.ids[need], graph.ids[at]) for at, row in enumerate(graph.needs) for need in row]
    return sorted(graph.ids), sorted(edges)


def read_dot(text: str) -> Picture:
    quoted = r'"((?:[^"\\]|\\.)*)"'
    nodes = re.findall(rf"^ *{quoted} \[class=", text, re.MULTILINE)
    edges = re.findall(rf"^ *{quoted} -> {quoted};$", text, re.MULTILINE)
    return sorted(_bare(one) for one in nodes), sorted((_bare(a), _bare(b)) for a, b in edges)


def _bare(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted)


def read_mermaid(text: str) -> Picture:
    entity = re.compile(r"#(\d+);")
    label = {
        name: entity.sub(lambda found: chr(int(found[1])), words)
        for name, words in re.findall(r'^ *(n\d+)\["([^"]*)"\]:::', text, re.MULTILINE)
    }
    nodes = re.findall(r"^ *(n\d+)\[", text, re.MULTILINE)
    edges = re.findall(r"^ *(n\d+) --> (n\d+)$", text, re.MULTILINE)
    return sorted(label[one] for one in nodes), sorted((label[a], label[b]) for a, b in edges)


def read_json(text: str) -> Picture:
    found = json.loads(text)
    assert sorted(one for level in found["levels"] for one in level) == sorted(
        node["id"] for node in found["nodes"]
    )
    nodes = [node["id"] for node in found["nodes"]]
    return sorted(nodes), sorted((edge["from"], edge["to"]) for edge in found["edges"])


def read_svg(text: str) -> Picture:
    root = ET.fromstring(text)  # noqa: S314: our own text
    nodes = [one.attrib["data-id"] for one in root.iter() if "data-id" in one.attrib]
    edges = [
        (one.attrib["data-from"], one.attrib["data-to"])
        for one in root.iter()
        if "data-from" in one.attrib
    ]
    return sorted(nodes), sorted(edges)


class Page(HTMLParser):
    """The elements of a page, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.texts[self._inside] = self.texts.get(self._inside, "") + data

    @property
    def plan(self) -> Any:
        return json.loads(self.texts["plan"])


def read_html(text: str) -> Picture:
    plan = Page(text).plan
    ids = [node["id"] for node in plan["nodes"]]
    return sorted(ids), sorted((ids[edge["from"]], ids[edge["to"]]) for edge in plan["edges"])


READERS: dict[str, Callable[[str], Picture]] = {
    "dot": read_dot,
    "mermaid": read_mermaid,
    "json": read_json,
    "svg": read_svg,
    "html": read_html,
}
READABLE = pytest.mark.parametrize("form", READERS)
ANY_FORM = pytest.mark.parametrize("form", FORMS)


@READABLE
def test_every_form_has_each_node_and_each_edge_once(form: str) -> None:
    check_whole(form, shop())


@pytest.mark.parametrize("form", THINNED)
def test_a_chain_is_drawn_as_a_chain(form: str) -> None:
    """Each release gives to everything that comes after it."""
    plan = plan_of([build("a"), build("b", "a"), build("c", "a", "b"), build("d", "a", "b", "c")])
    _, edges = READERS[form](draw(form, plan))
    assert edges == [("a", "b"), ("b", "c"), ("c", "d")]


@READABLE
def test_names_and_reasons_cannot_leave_their_place(form: str) -> None:
    tasks = [build(f"build:{HOSTILE}"), build("after", f"build:{HOSTILE}", service=HOSTILE)]
    plan = plan_of(tasks, reason=HOSTILE)
    assert READERS[form](draw(form, plan)) == wanted(plan)


@ANY_FORM
def test_a_picture_is_the_same_every_time(form: str) -> None:
    assert draw(form, shop()) == draw(form, shop())


@ANY_FORM
def test_an_empty_plan_has_a_picture(form: str) -> None:
    assert draw(form, plan_of([]))


@ANY_FORM
def test_a_need_that_is_named_twice_is_one_edge(form: str) -> None:
    plan = plan_of([build("a"), build("b", "a", "a")])
    assert draw(form, plan) == draw(form, plan_of([build("a"), build("b", "a")]))


@pytest.mark.parametrize("form", ["tree", "svg"])
def test_control_characters_reach_no_terminal_and_no_xml(form: str) -> None:
    text = draw(form, plan_of([build("a")], reason="\x1b[31m red \x07"))
    assert not set(text) & {"\x1b", "\x07"}
    assert "\\x1b[31m red" in text


def test_an_unknown_form_is_a_usage_problem() -> None:
    with pytest.raises(FabricError) as caught:
        draw("png", shop())
    assert caught.value.first.code == "usage/unknown-graph"


def test_html_page_loads_nothing_external_and_allows_only_its_script() -> None:
    page = Page(draw("html", plan_of([build(HOSTILE)], reason=HOSTILE)))
    names = [name for name, _ in page.elements]
    assert "img" not in names
    assert names.count("script") == 2
    assert not [one for _, attributes in page.elements for one in attributes if one in _REMOTE]
    policy = next(a["content"] or "" for _, a in page.elements if "http-equiv" in a)
    assert "default-src 'none'" in policy
    for rule, text in {
        "script-src": page.texts["script"],
        "style-src": page.texts["style"],
    }.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy


_REMOTE = {"src", "href", "action", "style", "onerror", "onclick", "onload"}


def test_the_page_keeps_reason_key_and_inputs_of_each_task() -> None:
    node = Page(draw("html", plan_of([build("a")], reason=HOSTILE))).plan["nodes"][0]
    assert (node["reason"], node["key"], node["inputs"]) == (HOSTILE, "ab" * 32, 0)


def test_a_page_of_many_tasks_starts_folded() -> None:
    few = plan_of([build(f"t{number}") for number in range(FOLD_ABOVE)])
    many = plan_of([build(f"t{number}") for number in range(FOLD_ABOVE + 1)])
    assert [Page(draw("html", plan)).plan["folded"] for plan in (few, many)] == [False, True]


@given(any_plans())
def test_any_graph_is_drawn_whole_in_every_form(plan: Plan) -> None:
    for form in READERS:
        check_whole(form, plan)
    assert draw("tree", plan)


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
