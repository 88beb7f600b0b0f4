"""Distribute requests by smooth weighted round robin, deterministically and without a network.

The order repeats after the sum of all weights, so only the remainder is simulated one by one.
"""

from math import gcd

from fabric.model.routing import Weights


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
