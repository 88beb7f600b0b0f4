"""What becomes of requests when endpoints are down: each alone, then all of them."""

from enum import StrEnum

from msgspec import Struct

from fabric.model.routing import Weights
from fabric.router.simulate import simulated_shares

# So many requests are spread in each case.
REQUESTS = 1000


class Verdict(StrEnum):
    """`pass` is what is expected of a router, whatever is down."""

    PASS = "pass"  # noqa: S105 - no password, a verdict
    FAIL = "fail"


class ChaosScenario(Struct, frozen=True):
    down: tuple[str, ...]
    verdict: Verdict
    shares: Weights
    detail: str


def chaos_scenarios(weights: Weights) -> tuple[ChaosScenario, ...]:
    labels = tuple(label for label, _ in weights)
    return (*(_one_down(weights, label) for label in labels), _all_down(weights, labels))


def _one_down(weights: Weights, label: str) -> ChaosScenario:
    """The others have to take all of it, and nothing may go to the one that is down."""
    shares = _spread(weights, (label,))
    is_taken_over = sum(count for _, count in shares) == REQUESTS
    detail = (
        f"the others take over what `{label}` had"
        if is_taken_over
        else f"nobody is left to take over from `{label}`"
    )
    verdict = Verdict.PASS if is_taken_over else Verdict.FAIL
    return ChaosScenario((label,), verdict, shares, detail)


def _all_down(weights: Weights, labels: tuple[str, ...]) -> ChaosScenario:
    """Nothing may be sent to who is known to be down: callers are told so."""
    shares = _spread(weights, labels)
    verdict = Verdict.FAIL if any(count for _, count in shares) else Verdict.PASS
    return ChaosScenario(labels, verdict, shares, "nobody is left: no request is sent anywhere")


def _spread(weights: Weights, down: tuple[str, ...]) -> Weights:
    up = tuple((label, 0 if label in down else weight) for label, weight in weights)
    return simulated_shares(up, REQUESTS)
