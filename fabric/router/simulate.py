"""Distribute requests by smooth weighted round robin, deterministically and without a network.

The order repeats after the sum of all weights, so only the remainder is simulated one by one.
"""

from math import gcd

from fabric.model.problems import FabricError, Problem
from fabric.model.routing import WHOLE, Weights


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
