"""What kinds of triggers a function has, as far as providers tell them apart."""

import json
from collections.abc import Sequence

from fabric.providers.contract import FunctionDraft


def kinds_of(triggers: Sequence[str]) -> frozenset[str]:
    return frozenset(str(json.loads(text).get("type")) for text in triggers)


def number_of(kind: str, triggers: Sequence[str]) -> int | None:
    """Which of the triggers is the first of this kind."""
    kinds = [json.loads(text).get("type") for text in triggers]
    return kinds.index(kind) if kind in kinds else None


def public_ones(functions: Sequence[FunctionDraft]) -> tuple[str, ...]:
    """Those that have an address, by name."""
    return tuple(one.name for one in functions if "http" in kinds_of(one.triggers))
