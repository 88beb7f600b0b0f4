"""Shares of a router: exact percents, sums that hold, nobody left with nothing."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from fabric.model.problems import FabricError
from fabric.model.routing.routing import WHOLE, Weights
from fabric.router.simulate import (
    REQUESTS,
    Verdict,
    Watch,
    list_scenarios,
    simulate_shares,
    watch_of,
)
from fabric.router.weights import divide_evenly, merge_weights, shift_weight

_LABELS = some.lists(some.from_regex("[a-z]{1,6}", fullmatch=True), min_size=1, unique=True)
_SOME_LABELS = _LABELS.filter(lambda labels: len(labels) <= WHOLE)


@some.composite
def _weights(draw: some.DrawFn, least: int = 1) -> Weights:
    labels = draw(_SOME_LABELS.filter(lambda labels: len(labels) >= least))
    known = {label: draw(some.integers(0, WHOLE)) for label in labels}
    return merge_weights(known, labels)


@given(_SOME_LABELS)
def test_even_weights_differ_by_one_at_most(labels: list[str]) -> None:
    weights = [weight for _, weight in divide_evenly(labels)]
    assert sum(weights) == WHOLE
    assert max(weights) - min(weights) <= 1


@given(_weights(least=2), some.data())
def test_a_shift_gives_exactly_the_percent_and_keeps_the_sum(
    weights: Weights, data: some.DataObject
) -> None:
    label = data.draw(some.sampled_from([label for label, _ in weights]))
    percent = data.draw(some.integers(1, 99))
    assume(WHOLE - percent >= len(weights) - 1)
    after = dict(shift_weight(weights, label, percent))
    assert after[label] == percent
    assert sum(after.values()) == WHOLE
    assert min(after.values()) >= 1
    assert list(after) == [label for label, _ in weights]


@given(_weights(least=3), some.data())
def test_shift_preserves_the_order_of_other_weights(
    weights: Weights, data: some.DataObject
) -> None:
    label = weights[0][0]
    percent = data.draw(some.integers(1, WHOLE - len(weights) + 1))
    assume(percent <= 99)
    after = dict(shift_weight(weights, label, percent))
    others = [(weight, after[name]) for name, weight in weights[1:]]
    for was, now in others:
        assert all(now <= other for before, other in others if before > was)


def test_other_endpoints_share_by_largest_remainder() -> None:
    four = divide_evenly(["a", "b", "c", "d"])
    assert shift_weight(four, "a", 97) == (("a", 97), ("b", 1), ("c", 1), ("d", 1))
    assert shift_weight((("a", 50), ("b", 30), ("c", 20)), "a", 75) == (
        ("a", 75),
        ("b", 15),
        ("c", 10),
    )


@pytest.mark.parametrize(
    ("label", "percent", "code"),
    [
        ("nobody", 10, "router/unknown-label"),
        ("a", 0, "router/bad-percent"),
        ("a", 100, "router/bad-percent"),
        ("a", -3, "router/bad-percent"),
        ("a", 99, "usage/too-much"),
    ],
)
def test_a_shift_that_cannot_be_is_refused(label: str, percent: int, code: str) -> None:
    with pytest.raises(FabricError) as caught:
        shift_weight(divide_evenly(["a", "b", "c"]), label, percent)
    assert caught.value.first.code == code


def test_the_only_endpoint_has_everything() -> None:
    with pytest.raises(FabricError) as caught:
        shift_weight((("a", 100),), "a", 50)
    assert caught.value.first.code == "router/only-endpoint"


@given(_SOME_LABELS, _SOME_LABELS, some.integers(0, 99))
def test_labels_that_come_and_go_leave_the_sum(
    before: list[str], after: list[str], canary: int
) -> None:
    weights = merge_weights(dict(divide_evenly(before)), after, canary)
    assert [label for label, _ in weights] == after
    assert sum(weight for _, weight in weights) == WHOLE
    assert min(weight for _, weight in weights) >= 1


def test_a_new_endpoint_begins_as_a_canary() -> None:
    assert merge_weights({"a": 60, "b": 40}, ["a", "b", "c"], canary=10) == (
        ("a", 54),
        ("b", 36),
        ("c", 10),
    )


@given(_weights(), some.integers(0, 5_000))
def test_simulated_requests_follow_the_weights_by_one_at_most(
    weights: Weights, requests: int
) -> None:
    shares = dict(simulate_shares(weights, requests))
    assert sum(shares.values()) == requests
    for label, weight in weights:
        assert abs(shares[label] - requests * weight / WHOLE) <= len(weights)


@given(_weights(), some.integers(0, 50))
def test_whole_rounds_come_out_exactly(weights: Weights, rounds: int) -> None:
    exact = tuple((label, weight * rounds) for label, weight in weights)
    assert simulate_shares(weights, rounds * WHOLE) == exact


def test_a_simulation_comes_out_equal_each_time() -> None:
    weights = (("a", 70), ("b", 29), ("c", 1))
    assert simulate_shares(weights, 1_000_003) == simulate_shares(weights, 1_000_003)
    assert dict(simulate_shares(weights, 10))["a"] == 7


def test_each_endpoint_is_down_once_and_then_all() -> None:
    scenarios = list_scenarios((("a", 70), ("b", 20), ("c", 10)), Watch.ASKED)
    assert [one.down for one in scenarios] == [("a",), ("b",), ("c",), ("a", "b", "c")]
    assert {one.verdict for one in scenarios} == {Verdict.PASS}
    assert dict(scenarios[0].shares)["a"] == 0
    assert sum(count for _, count in scenarios[0].shares) == REQUESTS
    assert sum(count for _, count in scenarios[-1].shares) == 0


def test_failure_of_the_only_endpoint_has_no_failover() -> None:
    alone, everyone = list_scenarios((("a", 100),), Watch.ASKED)
    assert (alone.verdict, everyone.verdict) == (Verdict.FAIL, Verdict.PASS)


@pytest.mark.parametrize(
    ("backend", "check", "watch"),
    [
        ("edge1", "/health", Watch.ASKED),
        ("cloud1", "/", Watch.ASKED),
        ("edge1", "", Watch.NOBODY),
        ("cloud1", "", Watch.NOBODY),
        ("pdns", "/health", Watch.NOBODY),
        ("local", "/health", Watch.ONE_ALONE),
        ("edge1-dns", "", Watch.ONE_ALONE),
    ],
)
def test_health_check_source_is_known_for_each_backend(
    backend: str, check: str, watch: Watch
) -> None:
    assert watch_of(backend, check) is watch


def test_without_health_checks_traffic_to_failed_endpoints_is_reported() -> None:
    first, second, everyone = list_scenarios((("a", 70), ("b", 30)), Watch.NOBODY)
    assert {one.verdict for one in (first, second, everyone)} == {Verdict.PASS}
    assert "no health check: 700 of 1000" in first.detail
    assert "no health check: 1000 of 1000" in everyone.detail


def test_single_record_failure_matters_only_for_the_chosen_endpoint() -> None:
    first, second, _ = list_scenarios((("a", 40), ("b", 60)), Watch.ONE_ALONE)
    assert "no health check" not in first.detail
    assert "no health check: 1000 of 1000" in second.detail
