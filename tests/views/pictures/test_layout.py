"""The places of boxes and lines in a picture."""

import time
from itertools import combinations, pairwise

import pytest
from hypothesis import given

from fabric.graph.plan import Plan
from fabric.model.task import Task
from fabric.views.pictures.drawing import build_drawing
from fabric.views.pictures.layout import BOX_WIDTH, STEP, Box, Layout, compute_layout
from tests.support.plans import any_plans, build, large, plan_of, service, shop


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


@given(any_plans())
def test_any_graph_is_laid_out_without_overlaps(plan: Plan) -> None:
    check_layout(plan)
