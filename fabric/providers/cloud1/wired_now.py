"""The existing event sources of functions, read from their alias policies."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.providers.cloud1.client import MAX_PARALLEL
from fabric.providers.cloud1.events import BucketWire, RuleWire, Wire, name_prefix
from fabric.providers.cloud1.permissions import list_permitted_sources
from fabric.providers.cloud1.rules import find_schedules, list_mappings, queue_in
from fabric.providers.cloud1.versions import Cloud1Work
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.retry import run_parallel


class WiredNow(Struct, frozen=True):
    """Existing permissions and event sources by function."""

    sources: Mapping[str, frozenset[str]] = {}
    wires: Mapping[str, tuple[Wire, ...]] = {}

    def unknown_to(self, api: str) -> frozenset[str]:
        """Return the functions that do not permit this API."""
        return frozenset(
            name
            for name, sources in self.sources.items()
            if not any(api and source.endswith(f":{api}/*") for source in sources)
        )


NOT_LOOKED = WiredNow()


def fetch_wires(
    work: Cloud1Work, address: DeploymentAddress, aliases: Mapping[str, str]
) -> WiredNow:
    """Read the event sources of `aliases`. Queues and schedules are listed once for all
    functions."""
    only = next(iter(aliases.values())) if len(aliases) == 1 else ""
    if not aliases:
        return NOT_LOOKED
    names = sorted(aliases)
    sources = run_parallel(
        lambda name: list_permitted_sources(work, aliases[name]), names, MAX_PARALLEL
    )
    listed: dict[str, list[Wire]] = {}
    for mapping in list_mappings(work, only):
        listed.setdefault(mapping["FunctionArn"], []).append(queue_in(mapping))
    for alias, schedules in find_schedules(work, name_prefix(address)).items():
        listed.setdefault(alias, []).extend(schedules)
    by_name = dict(zip(names, sources, strict=True))
    wires = {
        name: (*_parse_sources(by_name[name]), *listed.get(aliases[name], ())) for name in names
    }
    return WiredNow(by_name, wires)


def _parse_sources(sources: Iterable[str]) -> list[Wire]:
    found: list[Wire] = []
    for source in sorted(sources):
        service, rest = source.split(":")[2], source.split(":", 5)[5]
        if service == "events":
            bus, _, name = rest.removeprefix("rule/").rpartition("/")
            found.append(RuleWire(bus or "default", name))
        elif service == "s3":
            found.append(BucketWire(rest))
    return found
