"""Weights of endpoints: integer percentages that always add up to 100, each at least 1."""

from collections.abc import Mapping, Sequence

from fabric.model.problems import FabricError, Problem
from fabric.model.routing.routing import WHOLE, Weights
from fabric.model.text.spelling import suggest_spelling

_MOST = 99


def divide_evenly(labels: Sequence[str]) -> Weights:
    return _divide_parts(dict.fromkeys(labels, 1), WHOLE)


def shift_weight(weights: Weights, label: str, percent: int) -> Weights:
    """Give the label this percentage. The others share the rest proportionally, each at least 1."""
    labels = [name for name, _ in weights]
    _refuse(labels, label, percent)
    others = {name: max(1, weight) for name, weight in weights if name != label}
    if not others:
        return weights
    rest = dict(_divide_parts(others, WHOLE - percent))
    return tuple((name, percent if name == label else rest[name]) for name in labels)


def _refuse(labels: Sequence[str], label: str, percent: int) -> None:
    if label not in labels:
        hint = suggest_spelling(label, labels)
        message = f"unknown endpoint `{label}`"
        raise FabricError(Problem("router/unknown-label", message, hint))
    if not 1 <= percent <= _MOST:
        message = f"invalid value for --percent: {percent} (endpoint `{label}`)"
        hint = "use a whole number from 1 to 99: every endpoint keeps at least 1"
        raise FabricError(Problem("router/bad-percent", message, hint))
    others = len(labels) - 1
    if not others:
        message = f"`{label}` is the only endpoint and receives all traffic"
        hint = "add `targets` below `fabric`, each with a label in `providerOverrides`"
        raise FabricError(Problem("router/only-endpoint", message, hint))
    if WHOLE - percent < others:
        message = (
            f"{percent} percent for `{label}` leaves less than 1 for each of "
            f"{others} other endpoints"
        )
        raise FabricError(
            Problem("usage/too-much", message, f"use at most {WHOLE - others} percent")
        )


def merge_weights(known: Mapping[str, int], labels: Sequence[str], canary: int = 0) -> Weights:
    """Keep the weights of remaining labels and add new ones. Each gets `canary` percent, or an
    equal share if that is 0.

    Without known weights, all shares are equal.
    """
    old = {label: known[label] for label in labels if known.get(label, 0) > 0}
    if not old:
        return divide_evenly(labels)
    weights = _divide_parts(old, WHOLE)
    for count, label in enumerate((one for one in labels if one not in old), len(old) + 1):
        part = min(canary or WHOLE // count, WHOLE + 1 - count)
        weights = shift_weight((*weights, (label, 1)), label, max(1, part))
    found = dict(weights)
    return tuple((label, found[label]) for label in labels)


def _divide_parts(parts: Mapping[str, int], total: int) -> Weights:
    """Divide by largest remainder, each at least 1; of equal remainders the first wins."""
    fixed: set[str] = set()
    while True:
        free = {label: part for label, part in parts.items() if label not in fixed}
        room, whole = total - len(fixed), sum(free.values())
        small = [label for label, part in free.items() if part * room < whole]
        if not small:
            break
        fixed.update(small)
    return _with_remainders(parts, _round_down(free, room, whole), room, whole)


def _round_down(free: Mapping[str, int], room: int, whole: int) -> dict[str, int]:
    return {label: part * room // whole for label, part in free.items()}


def _with_remainders(
    parts: Mapping[str, int], floors: Mapping[str, int], room: int, whole: int
) -> Weights:
    by_remainder = sorted(floors, key=lambda label: -(parts[label] * room % whole))
    extra = set(by_remainder[: room - sum(floors.values())])
    return tuple(
        (label, floors[label] + (label in extra) if label in floors else 1) for label in parts
    )
