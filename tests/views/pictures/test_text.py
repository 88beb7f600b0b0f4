"""Plans as text: a tree, JSON, Mermaid and Graphviz."""

import json
import re

from fabric.graph.decide import Action
from fabric.views.pictures.draw import draw
from fabric.views.pictures.drawing import build_drawing
from fabric.views.pictures.text import escape_mermaid, format_headline, format_path_summary
from tests.support.plans import build, plan_of, service, shop


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


def test_the_headline_counts_tasks_levels_and_decisions() -> None:
    drawing = build_drawing(plan_of([build("a"), build("b", "a")], {"a": Action.SKIP}))
    assert format_headline(drawing) == "2 tasks in 2 levels: 1 run, 0 pending, 1 up to date"
    assert format_headline(build_drawing(plan_of([build("a")]))).startswith("1 task in 1 level")


def test_the_critical_path_names_its_services_in_order() -> None:
    # What is up to date takes no time.
    assert format_path_summary(build_drawing(shop())) == "Critical path: 6 tasks, cart → checkout"
    assert format_path_summary(build_drawing(plan_of([]))) == ""


def test_a_path_without_work_says_so() -> None:
    tasks = service("auth", ("login",))
    made = plan_of(tasks, {task.id: Action.SKIP for task in tasks})
    summary = format_path_summary(build_drawing(made))
    assert summary == "Nothing to do. Critical path: 4 tasks, auth"


def test_a_long_path_is_shortened_in_the_middle() -> None:
    names = "abcdef"
    tasks = [build(name, *names[:at][-1:], service=name) for at, name in enumerate(names)]
    assert format_path_summary(build_drawing(plan_of(tasks))).endswith("a → b → c → … → f")


def test_mermaid_syntax_is_escaped_with_entities() -> None:
    assert escape_mermaid("a b/c@d") == "a b/c@d"
    assert escape_mermaid('"]<#') == "#34;#93;#60;#35;"
