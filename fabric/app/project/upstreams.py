"""Variables that services provide to their dependents: names and owners."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fabric.config.values import ComposeService
from fabric.model.late_values import format_placeholder
from fabric.model.task_id import release_id
from fabric.model.walks import Needs, find_reachable, reverse_edges, sort_needs_first


class UpstreamService(Struct, frozen=True):
    """An upstream: its compose name and the release that provides its endpoint."""

    name: str
    service: str
    provider: str

    @property
    def release(self) -> str:
        return release_id(self.service, self.provider)

    @property
    def variables(self) -> tuple[str, str]:
        word = _format_variable_word(self.name)
        return (
            f"SERVICE_{word}_URL",
            f"FABRIC_OUTPUT_{word}_{_format_variable_word(self.provider)}_ENDPOINT",
        )


def build_upstream_placeholders(upstream_services: Iterable[UpstreamService]) -> dict[str, str]:
    """Build a placeholder for every variable that these upstreams provide."""
    return {
        name: format_placeholder(name)
        for upstream_service in upstream_services
        for name in upstream_service.variables
    }


def map_needs(services: Iterable[ComposeService]) -> dict[str, Sequence[str]]:
    return {one.name: one.depends_on for one in services}


def list_all_upstreams(name: str, needs: Needs) -> tuple[str, ...]:
    """List all direct and indirect upstreams by name. Stops at a cycle."""
    return tuple(sorted(find_reachable((name,), needs) - {name}))


def list_all_dependents(name: str, needs: Needs) -> tuple[str, ...]:
    """List all direct and indirect dependents by name. Stops at a cycle."""
    return list_all_upstreams(name, reverse_edges(needs))


def sort_upstreams_first(services: Sequence[ComposeService]) -> list[ComposeService]:
    """Sort every service after its dependencies, as far as possible."""
    by_name = {one.name: one for one in services if one.name}
    order = sort_needs_first(by_name, map_needs(services))
    return [*(one for one in services if not one.name), *(by_name[name] for name in order)]


def _format_variable_word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()
