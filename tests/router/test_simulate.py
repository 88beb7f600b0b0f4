"""Simulated requests, steps of a shift, and outages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.problems import FabricError
from fabric.router.simulate import (
    REQUESTS,
    Verdict,
    Watch,
    list_scenarios,
    parse_steps,
    select_steps_up,
    simulate_shares,
    watch_of,
)

WEIGHTS = (("a", 60), ("b", 40))


@given(st.lists(st.integers(0, 100), min_size=1, max_size=5).filter(any), st.integers(0, 5_000))
def test_every_request_is_counted_and_shares_follow_the_weights(
    weights: list[int], requests: int
) -> None:
    rows = tuple((str(at), weight) for at, weight in enumerate(weights))
    counts = [count for _, count in simulate_shares(rows, requests)]
    assert sum(counts) == requests
    for weight, count in zip(weights, counts, strict=True):
        assert abs(count - requests * weight / sum(weights)) <= len(weights)


@pytest.mark.parametrize(
    ("requests", "shares"), [(1, (1, 0)), (2, (1, 1)), (5, (3, 2)), (10, (6, 4)), (0, (0, 0))]
)
def test_a_remainder_is_spread_smoothly(requests: int, shares: tuple[int, int]) -> None:
    assert tuple(count for _, count in simulate_shares(WEIGHTS, requests)) == shares


def test_without_weight_no_request_is_answered() -> None:
    assert simulate_shares((("a", 0), ("b", 0)), 100) == (("a", 0), ("b", 0))


@pytest.mark.parametrize(
    ("text", "others", "steps"),
    [
        ("5,25,50", 1, (5, 25, 50)),
        (" 5 , 25 ", 1, (5, 25)),
        ("50,100", 1, (50, 99)),
        ("98,100", 2, (98,)),
        ("100", 0, (100,)),
    ],
)
def test_the_last_step_leaves_one_percent_to_each_other_endpoint(
    text: str, others: int, steps: tuple[int, ...]
) -> None:
    assert parse_steps(text, others) == steps


@pytest.mark.parametrize("text", ["", "0", "101", "5,", "5,x", "25,5", "5,5", "-5", "5.5", "²"])
def test_steps_are_increasing_percentages(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_steps(text, 1)
    assert caught.value.first.code == "usage/bad-steps"


def test_a_shift_in_steps_only_increases_a_weight() -> None:
    assert select_steps_up((5, 25, 50), "a", 25) == (50,)
    with pytest.raises(FabricError, match="`a` already has 50 %"):
        select_steps_up((5, 25, 50), "a", 50)


@pytest.mark.parametrize(
    ("backend", "path", "watch"),
    [
        ("edge1", "/health", Watch.ASKED),
        ("edge1", "", Watch.NOBODY),
        ("pdns", "/health", Watch.NOBODY),
        ("local", "/health", Watch.ONE_ALONE),
    ],
)
def test_outages_are_detected_only_by_some_backends(backend: str, path: str, watch: Watch) -> None:
    assert watch_of(backend, path) is watch


def test_each_outage_is_a_scenario_and_the_others_take_over() -> None:
    a, b, both = list_scenarios(WEIGHTS, Watch.ASKED)
    assert (a.down, a.shares, a.verdict) == (("a",), (("a", 0), ("b", REQUESTS)), Verdict.PASS)
    assert (b.down, b.shares) == (("b",), (("a", REQUESTS), ("b", 0)))
    assert (both.shares, both.verdict) == ((("a", 0), ("b", 0)), Verdict.PASS)


def test_an_only_endpoint_has_no_other_to_take_over() -> None:
    single, _ = list_scenarios((("a", 100),), Watch.ASKED)
    assert single.verdict is Verdict.FAIL


def test_an_undetected_outage_loses_the_share_of_its_endpoint() -> None:
    a, _, _ = list_scenarios(WEIGHTS, Watch.NOBODY)
    assert "600 of 1000 requests fail" in a.detail
    a, b, _ = list_scenarios(WEIGHTS, Watch.ONE_ALONE)
    assert "1000 of 1000 requests fail" in a.detail
    assert "requests fail until" not in b.detail
