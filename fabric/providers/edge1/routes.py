"""Addresses of a service: below the account's workers.dev subdomain, or at a hostname of a zone."""

from collections.abc import Iterator

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.release_state import ReleaseState
from fabric.providers.edge1.work import ADDRESS, ZONE, Edge1Work, build_routes_path

_NO_SUBDOMAIN = "10007"
_HTTPS = "https://"


class _Openness(Struct, frozen=True):
    enabled: bool


class _Subdomain(Struct, frozen=True):
    subdomain: str


class _RouteRow(Struct, frozen=True):
    id: str
    pattern: str
    script: str | None = None


def fetch_subdomain(work: Edge1Work) -> str:
    try:
        return work.ask(ProviderCall("GET", f"{work.workers}/subdomain"), _Subdomain).subdomain
    except RefusedCallError as error:
        if _NO_SUBDOMAIN not in error.codes:
            raise
        message = "the Cloudflare account has no workers.dev subdomain yet"
        hint = (
            "choose one in the Workers dashboard, or set `hostname` below "
            "`extensions.edge1-workers`"
        )
        raise FabricError(Problem("provider/no-subdomain", message, hint)) from error


def open_address(work: Edge1Work, gate: str, kept: ReleaseState) -> str:
    """Open an address of the front Worker and return it."""
    if not work.own.hostname:
        with work.convert_errors(f"the address of the front Worker `{gate}`"):
            below = fetch_subdomain(work)
            shut(work, gate, kept)
            _set_subdomain(work, gate, is_on=True)
        other = work.api.account.workers_url
        return other.replace("{worker}", gate) or f"{_HTTPS}{gate}.{below}.workers.dev"
    zone = work.api.account.zone
    pattern = f"{work.own.hostname}/*"
    with work.convert_errors(f"the route `{pattern}` to the front Worker `{gate}`"):
        _set_routes(work, zone, gate, pattern)
        for old in _list_zones(work, kept) - {zone}:
            _set_routes(work, old, gate, "")
        _set_subdomain(work, gate, is_on=False)
    return f"{_HTTPS}{work.own.hostname}"


def is_open(work: Edge1Work, gate: str, kept: ReleaseState) -> bool:
    """Return whether the last release's address still routes to the front Worker."""
    zone = kept.texts.get(ZONE, "")
    if not zone:
        call = ProviderCall("GET", work.script(gate, "/subdomain"))
        return work.ask(call, _Openness).enabled
    rows = work.ask(ProviderCall("GET", build_routes_path(zone)), tuple[_RouteRow, ...])
    pattern = kept.texts.get(ADDRESS, "").removeprefix(_HTTPS) + "/*"
    return any((one.pattern, one.script) == (pattern, gate) for one in rows)


def shut(work: Edge1Work, gate: str, kept: ReleaseState) -> None:
    """Delete routes of a zone, which would outlive their Worker."""
    for zone in _list_zones(work, kept):
        try:
            _set_routes(work, zone, gate, "")
        except RefusedCallError as error:
            # A zone that is set for something else: nobody knows of a route of ours in it.
            if zone == kept.texts.get(ZONE) or work.own.hostname:
                raise
            work.watch.hear(f"routes of the zone {zone} were not checked: {error.words}")


def _list_zones(work: Edge1Work, kept: ReleaseState) -> frozenset[str]:
    """Return the zones that can have routes to the front Worker."""
    may_be = work.own.hostname or not kept.is_sure
    return frozenset((kept.texts.get(ZONE, ""), work.api.account.zone if may_be else "")) - {""}


def _set_subdomain(work: Edge1Work, gate: str, *, is_on: bool) -> None:
    document = {"enabled": is_on, "previews_enabled": False}
    work.tell(build_json_call("POST", work.script(gate, "/subdomain"), document))


def _set_routes(work: Edge1Work, zone: str, gate: str, pattern: str) -> None:
    """Route only this pattern to the front Worker. Routes to other Workers stay."""
    routes = build_routes_path(zone)

    def act() -> None:
        rows = work.api.once(ProviderCall("GET", routes), tuple[_RouteRow, ...])
        for call in tuple(_plan_route_changes(routes, rows, gate, pattern)):
            if call.method == "DELETE":
                with ignore_missing():
                    work.api.once(call, object)
            else:
                work.api.once(call, object)

    work.patient(act)


def _plan_route_changes(
    routes: str, rows: tuple[_RouteRow, ...], gate: str, pattern: str
) -> Iterator[ProviderCall]:
    there = next((one for one in rows if pattern and one.pattern == pattern), None)
    if there is not None and there.script != gate:
        whose = f"the Worker `{there.script}`" if there.script else "no Worker"
        message = f"the route `{pattern}` already exists and points to {whose}"
        hint = "delete it manually, or set another `hostname`; it was not changed"
        raise FabricError(Problem("deploy/foreign", message, hint))
    if pattern and there is None:
        yield build_json_call("POST", routes, {"pattern": pattern, "script": gate})
    for one in rows:
        if one.script == gate and one.pattern != pattern:
            yield ProviderCall("DELETE", f"{routes}/{one.id}")
