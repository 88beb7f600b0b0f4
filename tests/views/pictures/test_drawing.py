"""Nodes and edges of a picture, and texts that fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.graph.decide import Action
from fabric.views.pictures.drawing import (
    build_drawing,
    escape_controls,
    format_tally,
    measure_width,
    shorten_to_fit,
)
from tests.support.plans import build, plan_of, service, shop


def test_an_edge_that_follows_from_two_others_is_removed() -> None:
    tasks = [build("a"), build("b", "a"), build("c", "a", "b"), build("d", "a")]
    drawing = build_drawing(plan_of(tasks))
    assert len(drawing.edges) == 4
    ids = [node.id for node in drawing.nodes]
    kept = {(ids[need], ids[number]) for need, number in drawing.remove_implied_edges().edges}
    assert kept == {("a", "b"), ("b", "c"), ("a", "d")}


def test_services_are_in_the_order_of_their_names() -> None:
    drawing = build_drawing(plan_of([*service("b", ("f",)), *service("a", ("f",))]))
    assert list(drawing.services) == ["a", "b"]
    assert sorted(number for rows in drawing.services.values() for number in rows) == list(range(8))


def test_a_node_is_named_by_what_distinguishes_it() -> None:
    names = {node.id: node.name for node in build_drawing(shop()).nodes}
    assert names["build:auth/login"] == "login"
    assert names["release:auth@cloud1-lambda"] == "cloud1-lambda"


def test_decisions_are_counted_for_some_or_all_nodes() -> None:
    drawing = build_drawing(plan_of([build("a"), build("b")], {"a": Action.SKIP}))
    assert drawing.tally() == {Action.RUN: 1, Action.WAIT: 0, Action.SKIP: 1}
    assert drawing.tally([]) == {Action.RUN: 0, Action.WAIT: 0, Action.SKIP: 0}
    assert format_tally(drawing.tally()) == "1 run, 1 up to date"
    assert format_tally(drawing.tally(), zeros=True) == "1 run, 0 pending, 1 up to date"


@given(st.text(max_size=60), st.floats(min_value=20, max_value=300))
def test_a_fitted_text_fits(text: str, session: float) -> None:
    assert measure_width(shorten_to_fit(text, session, 12), 12) <= session


@pytest.mark.parametrize(
    ("room", "short"),
    [(400, "checkout-service"), (75, "checko…ce"), (20, "c…"), (1, "…")],
)
def test_a_long_name_keeps_its_beginning_and_its_end(room: float, short: str) -> None:
    assert shorten_to_fit("checkout-service", room, 12) == short


def test_control_characters_are_escaped() -> None:
    assert escape_controls("a\x1b[31m\n") == "a\\x1b[31m\\n"
    assert escape_controls("a\u00a0b\x07") == "a b\\x07"
