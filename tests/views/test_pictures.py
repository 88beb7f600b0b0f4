"""Pictures of a plan: every form is read back, and the layout is measured."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.model.problems import FabricError
from fabric.model.task import Task
from fabric.views.pictures.draw import FOLD_ABOVE, FORMS, draw
from fabric.views.pictures.drawing import build_drawing, measure_width, shorten_to_fit
from fabric.views.pictures.layout import BOX_WIDTH, STEP, Box, Layout, compute_layout
from tests.support.plans import build, large, plan_of, service, shop

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


def test_the_tree_has_a_line_for_each_task_under_its_service() -> None:
    blocks = draw("tree", shop()).split("\n\n")
    assert blocks[0] == "21 tasks in 8 levels: 10 run, 4 pending, 7 up to date"
    assert blocks[1].splitlines()[0] == "auth on cloud1-lambda: 7 up to date"
    assert [block.split(" ")[0] for block in blocks[1:]] == ["auth", "cart", "checkout"]
    assert sum(len(block.splitlines()) - 1 for block in blocks[1:]) == 21


def test_the_tree_names_a_need_once_whether_in_the_reason_or_after_it() -> None:
    tasks = [build("a"), build("b"), build("c", "a", "b")]
    waiting = plan_of(tasks, {"c": Action.WAIT}, reason="known after a")
    last = draw("tree", waiting).splitlines()[-1]
    assert last.endswith("c  known after a  ← b")


def test_json_contains_all_identifying_task_fields() -> None:
    found = json.loads(draw("json", shop()))
    node = next(one for one in found["nodes"] if one["id"] == "deploy:cart/add@cloud1-lambda")
    assert node == {
        "id": "deploy:cart/add@cloud1-lambda",
        "kind": "deploy",
        "service": "cart",
        "function": "add",
        "provider": "cloud1-lambda",
        "level": 4,
        "action": "run",
        "reason": "because",
    }


def test_mermaid_and_dot_group_services_and_class_nodes_by_action() -> None:
    mermaid, dot = draw("mermaid", shop()), draw("dot", shop())
    assert re.findall(r'subgraph s\d\["(\w+)"\]', mermaid) == ["auth", "cart", "checkout"]
    assert re.findall(r'label="(\w+)";', dot) == ["auth", "cart", "checkout"]
    for action, count in {"run": 10, "skip": 7, "wait": 4}.items():
        assert mermaid.count(f":::{action}\n") == count
        assert dot.count(f'class="{action}"') == count


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


def overlap(one: Box, other: Box) -> bool:
    apart = one.right <= other.x or other.right <= one.x
    return not (apart or one.bottom <= other.y or other.bottom <= one.y)


def lines_of(layout: Layout) -> list[list[tuple[float, float]]]:
    """Edges as corners; a bend in a gutter counts as a straight line."""
    lines = []
    for route in layout.routes:
        start, end = layout.boxes[route.need], layout.boxes[route.number]
        points = [(start.right, start.middle)]
        for column, height in enumerate(route.bends, start=1):
            left = start.x + column * STEP
            points += [(left, height), (left + BOX_WIDTH, height)]
        lines.append([*points, (end.x, end.middle)])
    return lines


def crossings(layout: Layout) -> int:
    """Pairs of lines that change sides in a gutter."""
    pieces: dict[float, set[tuple[float, float]]] = {}
    for line in lines_of(layout):
        for (x, y), (right, height) in zip(line[::2], line[1::2], strict=True):
            del right
            pieces.setdefault(x, set()).add((y, height))
    return sum(
        (one[0] - other[0]) * (one[1] - other[1]) < 0
        for gutter in pieces.values()
        for one, other in combinations(gutter, 2)
    )


def check_layout(plan: Plan) -> None:
    drawing = build_drawing(plan)
    layout = compute_layout(drawing)
    assert not [pair for pair in combinations(layout.boxes, 2) if overlap(*pair)]
    assert not [pair for pair in combinations(layout.frames, 2) if overlap(*pair)]
    for node, box in zip(drawing.nodes, layout.boxes, strict=True):
        assert box.x == node.level * STEP
    for lane, frame in zip(layout.lanes, layout.frames, strict=True):
        for number in lane.numbers:
            box = layout.boxes[number]
            assert frame.x <= box.x and box.right <= frame.right  # noqa: PT018
            assert frame.y <= box.y and box.bottom <= frame.bottom  # noqa: PT018
    check_lines(layout)


def check_lines(layout: Layout) -> None:
    """Lines go from left to right, and level lines pass no box."""
    for line in lines_of(layout):
        assert all(one[0] < other[0] for one, other in pairwise(line))
        for (left, y), (right, _) in zip(line[1:-1:2], line[2:-1:2], strict=True):
            assert not [
                box for box in layout.boxes if overlap(box, Box(left, y, right - left, 0.1))
            ]


def test_boxes_never_overlap_and_levels_go_from_left_to_right() -> None:
    check_layout(shop())
    check_layout(large(12))


@pytest.mark.parametrize(
    "tasks",
    [
        service("auth", ("login", "whoami", "logout")),
        [*service("auth", ("login",)), *service("cart", ("add",), "auth")],
        [build("a"), build("b"), build("x", "b"), build("y", "a")],
        [
            *(build(name) for name in "abcd"),
            *(build(f"{name}2", name) for name in "dcba"),
            build("end", "a2", "b2", "c2", "d2"),
        ],
    ],
    ids=["one service", "two services", "a swap", "a fan"],
)
def test_lines_that_need_not_cross_do_not(tasks: list[Task]) -> None:
    assert crossings(compute_layout(build_drawing(plan_of(tasks)))) == 0


def test_each_function_has_a_separate_row() -> None:
    plan = plan_of(service("auth", ("login", "whoami", "logout")))
    layout = compute_layout(build_drawing(plan))
    rows = {
        (task.inputs.function, box.middle)
        for task, box in zip(plan.graph.tasks, layout.boxes, strict=True)
        if task.inputs.function
    }
    assert len(rows) == 3


def test_dependent_services_are_adjacent() -> None:
    tasks = [
        *service("a", ("f",)),
        *service("b", ("f",)),
        *service("y", ("f",), "b"),
        *service("z", ("f",), "a"),
    ]
    order = [lane.service for lane in compute_layout(build_drawing(plan_of(tasks))).lanes]
    assert abs(order.index("a") - order.index("z")) == 1
    assert abs(order.index("b") - order.index("y")) == 1


def test_a_thousand_tasks_are_laid_out_in_two_seconds() -> None:
    drawing = build_drawing(large(100))
    assert len(drawing.nodes) == 1000
    begin = time.process_time()
    compute_layout(drawing)
    assert time.process_time() - begin < 2


@given(st.text(max_size=60), st.floats(min_value=20, max_value=300))
def test_a_fitted_text_fits(text: str, session: float) -> None:
    assert measure_width(shorten_to_fit(text, session, 12), 12) <= session


@st.composite
def plans(draw_from: st.DrawFn) -> Plan:
    """Graphs of any shape, with names that no grammar likes."""
    names = draw_from(st.lists(st.text(min_size=1, max_size=12), max_size=14, unique=True))
    names = [name for name in names if name.isprintable()]
    tasks = []
    for position, name in enumerate(names):
        needs = (
            draw_from(st.sets(st.sampled_from(names[:position]), max_size=4)) if position else ()
        )
        home = draw_from(st.sampled_from(["orders", "cart", '"<&', ""]))
        tasks.append(build(name, *sorted(needs), service=home))
    actions = {name: draw_from(st.sampled_from(Action)) for name in names}
    return plan_of(tasks, actions, reason=draw_from(st.text(max_size=20)))


@given(plans())
def test_any_graph_is_drawn_whole_in_every_form(plan: Plan) -> None:
    for form in READERS:
        check_whole(form, plan)
    assert draw("tree", plan)


@given(plans())
def test_any_graph_is_laid_out_without_overlaps(plan: Plan) -> None:
    check_layout(plan)
