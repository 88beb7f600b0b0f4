"""The kinds of a function's triggers, as far as providers distinguish them."""

import json
from collections.abc import Sequence

from fabric.providers.contract import FunctionDraft


def collect_trigger_kinds(triggers: Sequence[str]) -> frozenset[str]:
    return frozenset(str(json.loads(text).get("type")) for text in triggers)


def number_of(kind: str, triggers: Sequence[str]) -> int | None:
    """Return the number of the first trigger of this kind."""
    kinds = [json.loads(text).get("type") for text in triggers]
    return kinds.index(kind) if kind in kinds else None


def list_public_functions(functions: Sequence[FunctionDraft]) -> tuple[str, ...]:
    """List the names of functions that have an address."""
    return tuple(one.name for one in functions if "http" in collect_trigger_kinds(one.triggers))
