"""Values that are known only after an upstream's release: their names, and what stands for them."""

import re
from collections.abc import Iterable, Mapping, Sequence

from fabric.config.values import ComposeService
from fabric.model.catalog import PROVIDER_IDS


def late_values(name: str, services: Sequence[ComposeService]) -> dict[str, str]:
    """A stand-in for every output of all direct and indirect upstreams of a service."""
    needs = {one.name: one.depends_on for one in services}
    names = [late for upstream in _upstreams(name, needs) for late in _names(upstream)]
    return {late: f"<{late} is known after its release>" for late in names}


def _upstreams(name: str, needs: Mapping[str, Sequence[str]]) -> Iterable[str]:
    found: dict[str, None] = {}
    waiting = list(needs.get(name, ()))
    while waiting:
        upstream = waiting.pop()
        if upstream not in found:
            found[upstream] = None
            waiting.extend(needs.get(upstream, ()))
    return sorted(found)


def _names(upstream: str) -> Iterable[str]:
    word = _word(upstream)
    yield f"SERVICE_{word}_URL"
    yield from (f"FABRIC_OUTPUT_{word}_{_word(one)}_ENDPOINT" for one in PROVIDER_IDS)


def _word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()
