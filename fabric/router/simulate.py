"""Simulate requests: the share of each endpoint, the steps of a shift, and outages.

Requests are distributed by smooth weighted round robin, deterministically and without a network.
The order repeats after the sum of all weights, so only the remainder is simulated one by one.
"""

from enum import StrEnum
from math import gcd

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.routing.routing import LED_TO_ONE, WHOLE, WITH_CHECKS, Weights

# So many requests are spread in each case.
REQUESTS = 1000


def simulate_shares(weights: Weights, requests: int) -> Weights:
    """Return the number of requests of each label."""
    common = gcd(*(weight for _, weight in weights)) or 1
    parts = [weight // common for _, weight in weights]
    period = sum(parts)
    if not period:
        return tuple((label, 0) for label, _ in weights)
    rounds, rest = divmod(requests, period)
    counts = [rounds * part for part in parts]
    for chosen in _order(parts, period, rest):
        counts[chosen] += 1
    return tuple((label, count) for (label, _), count in zip(weights, counts, strict=True))


def _order(parts: list[int], period: int, count: int) -> list[int]:
    """Yield labels in order: the label with the largest deficit first, ties by position."""
    owed, chosen = [0] * len(parts), []
    for _ in range(count):
        for place, part in enumerate(parts):
            owed[place] += part
        first = max(range(len(parts)), key=owed.__getitem__)
        owed[first] -= period
        chosen.append(first)
    return chosen


def parse_steps(text: str, others: int) -> tuple[int, ...]:
    """Parse `5,25,50,100`: each step is a percentage. 100 means the maximum, because each other
    endpoint keeps 1."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and 1 <= int(word) <= WHOLE for word in words):
        message = f"invalid value for --steps: `{text}` is not a list of percentages"
        raise FabricError(
            Problem("usage/bad-steps", message, "use a list such as --steps 5,25,50,100")
        )
    percents = [int(word) for word in words]
    if percents != sorted(set(percents)):
        message = f"invalid value for --steps: `{text}` is not increasing"
        raise FabricError(
            Problem("usage/bad-steps", message, "use a list such as --steps 5,25,50,100")
        )
    # The last but one may be as much already.
    most = WHOLE - others
    return tuple(dict.fromkeys(most if one == WHOLE else one for one in percents))


def select_steps_up(steps: tuple[int, ...], label: str, share: int) -> tuple[int, ...]:
    """Return the steps above the present weight: a shift in steps only increases it."""
    left = tuple(one for one in steps if one > share)
    if left:
        return left
    listed = ",".join(map(str, steps))
    message = f"`{label}` already has {share} %, and none of the steps {listed} is higher"
    hint = f"use `--percent` to decrease traffic, or a step above {share}"
    raise FabricError(Problem("usage/bad-steps", message, hint))


class Verdict(StrEnum):
    """The result of a scenario. `pass` is the expected behavior of a router in any outage, once it
    is detected."""

    PASS = "pass"  # noqa: S105 - no password, a verdict
    FAIL = "fail"


class Watch(StrEnum):
    """The detection of an unhealthy endpoint: by the backend, or none. A hostname with one target
    depends only on that target."""

    ASKED = "asked"
    NOBODY = "nobody"
    ONE_ALONE = "one alone"


class ChaosScenario(Struct, frozen=True):
    down: tuple[str, ...]
    verdict: Verdict
    shares: Weights
    detail: str


def watch_of(backend: str, check_path: str) -> Watch:
    if backend in LED_TO_ONE:
        return Watch.ONE_ALONE
    return Watch.ASKED if backend in WITH_CHECKS and check_path else Watch.NOBODY


def list_scenarios(weights: Weights, watch: Watch) -> tuple[ChaosScenario, ...]:
    """List the scenarios with the router's reaction. Without health checks, they show the result
    for callers before detection."""
    labels = tuple(label for label, _ in weights)
    scenarios = (
        *(_simulate_one_down(weights, label) for label in labels),
        _simulate_all_down(weights, labels),
    )
    if watch is Watch.ASKED:
        return scenarios
    led = _select_heaviest(weights) if watch is Watch.ONE_ALONE else weights
    return tuple(_simulate_undetected(led, one) for one in scenarios)


def _select_heaviest(weights: Weights) -> Weights:
    first = max(weights, key=lambda one: one[1])[0]
    return tuple((label, weight if label == first else 0) for label, weight in weights)


def _simulate_undetected(weights: Weights, scenario: ChaosScenario) -> ChaosScenario:
    """Compute the scenario without detection: an unhealthy endpoint keeps its share until traffic
    is shifted away."""
    shares = simulate_shares(weights, REQUESTS)
    lost = sum(count for label, count in shares if label in scenario.down)
    if not lost:
        return scenario
    until = f"no health check: {lost} of {REQUESTS} requests fail until traffic is shifted"
    return replace(scenario, detail=f"{scenario.detail}; {until}")


def _simulate_one_down(weights: Weights, label: str) -> ChaosScenario:
    """Compute one outage: the others must take all traffic, and the unhealthy endpoint receives
    none."""
    shares = _spread(weights, (label,))
    is_taken_over = sum(count for _, count in shares) == REQUESTS
    detail = (
        f"the other endpoints receive the traffic of `{label}`"
        if is_taken_over
        else f"no endpoint is left to receive the traffic of `{label}`"
    )
    verdict = Verdict.PASS if is_taken_over else Verdict.FAIL
    return ChaosScenario((label,), verdict, shares, detail)


def _simulate_all_down(weights: Weights, labels: tuple[str, ...]) -> ChaosScenario:
    """Compute the total outage: callers receive an error, and known unhealthy endpoints receive no
    traffic."""
    shares = _spread(weights, labels)
    verdict = Verdict.FAIL if any(count for _, count in shares) else Verdict.PASS
    return ChaosScenario(labels, verdict, shares, "no endpoint is left: every request fails")


def _spread(weights: Weights, down: tuple[str, ...]) -> Weights:
    up = tuple((label, 0 if label in down else weight) for label, weight in weights)
    return simulate_shares(up, REQUESTS)
