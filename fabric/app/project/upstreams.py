"""What services give to those that depend on them: names of variables, and whose they are."""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fabric.config.resolve.placeholders import mark
from fabric.config.values import ComposeService
from fabric.model.task_id import release_id


class UpstreamService(Struct, frozen=True):
    """An upstream: its name in the compose file, and the release whose endpoint it gives."""

    name: str
    service: str
    provider: str

    @property
    def release(self) -> str:
        return release_id(self.service, self.provider)

    @property
    def variables(self) -> tuple[str, str]:
        word = _word(self.name)
        return f"SERVICE_{word}_URL", f"FABRIC_OUTPUT_{word}_{_word(self.provider)}_ENDPOINT"


def marks(upstream_services: Iterable[UpstreamService]) -> dict[str, str]:
    """Every variable that these give, as long as no value is known."""
    return {
        name: mark(name)
        for upstream_service in upstream_services
        for name in upstream_service.variables
    }


Needs = Mapping[str, Sequence[str]]


def needs_of(services: Iterable[ComposeService]) -> dict[str, Sequence[str]]:
    return {one.name: one.depends_on for one in services}


def upstreams_of(name: str, needs: Needs) -> tuple[str, ...]:
    """All direct and indirect upstreams, by name. A circle ends where it began."""
    found: dict[str, None] = {}
    waiting = list(needs.get(name, ()))
    while waiting:
        upstream = waiting.pop()
        if upstream not in found and upstream != name:
            found[upstream] = None
            waiting.extend(needs.get(upstream, ()))
    return tuple(sorted(found))


def downstreams_of(name: str, needs: Needs) -> tuple[str, ...]:
    """All direct and indirect dependents, by name."""
    takers: dict[str, list[str]] = {}
    for taker, upstream_services in needs.items():
        for upstream_service in upstream_services:
            takers.setdefault(upstream_service, []).append(taker)
    return upstreams_of(name, takers)


def upstreams_first(services: Sequence[ComposeService]) -> list[ComposeService]:
    """An order in which every service comes after what it depends on, as far as there is one."""
    by_name = {one.name: one for one in services if one.name}
    placed: dict[str, ComposeService] = {}
    entered: set[str] = set()
    waiting = [one for one in reversed(services) if one.name]
    while waiting:
        one = waiting[-1]
        needs = [by_name[need] for need in one.depends_on if need in by_name]
        # Entered once already: its needs are placed, or lead back to it in a circle.
        if one.name in entered or not needs:
            placed.setdefault(waiting.pop().name, one)
        else:
            waiting.extend(need for need in needs if need.name not in placed)
        entered.add(one.name)
    return [*(one for one in services if not one.name), *placed.values()]


def _word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()
