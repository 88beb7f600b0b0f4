"""A name kept by edge1's load balancing: three looks and one for the name, then what differs."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.model.routing import (
    DesiredRouting,
    RouterAction,
    RouterPart,
    RouterResource,
    RouterVerb,
)
from fabric.providers.contract import UNWATCHED
from fabric.providers.edge1.api import Edge1Api
from fabric.providers.edge1.refusals import judged
from fabric.providers.edge1.routing.documents import (
    BalancerRow,
    DnsRow,
    MonitorRow,
    PoolRow,
    balancer_document,
    monitor_document,
    pool_document,
)
from fabric.providers.edge1.routing.wanted import (
    balancer_detail,
    managed_by,
    monitor_detail,
    pool_detail,
    pool_name,
    wanted_balancer,
)
from fabric.providers.http_calls import ProviderCall, patient, sending
from fabric.providers.redaction import Redaction
from fabric.providers.refused_calls import Quoted, RefusedCallError, explained
from fabric.providers.waiting import WAITING

T = TypeVar("T")
_ADDRESSES = ("A", "AAAA", "CNAME")


class _WithId(Struct, frozen=True):
    id: str


class Edge1Routing:
    """`hide` is what no message may show."""

    kind = "edge1"
    place = "edge1's load balancing"

    def __init__(self, api: Edge1Api, hide: Redaction) -> None:
        self._api = api
        self._hide = hide

    def close(self) -> None:
        """The connection is shared: who made it closes it."""

    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        return wanted_balancer(desired)

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        with self._told(desired):
            monitors = self._all(_MONITORS, tuple[MonitorRow, ...])
            pools = self._all(_POOLS, tuple[PoolRow, ...])
            balancers = self._all(_BALANCERS, tuple[BalancerRow, ...])
            records = self._all(f"{_RECORDS}?name={desired.hostname}", tuple[DnsRow, ...])
        ours = [one for one in monitors if one.description == managed_by(desired.owner)][:1]
        pool = next((one for one in pools if one.name == pool_name(desired.owner)), None)
        return (
            *(_monitor(one, desired) for one in ours),
            *((_pool(pool, ours, desired),) if pool else ()),
            *_balancers(balancers, pool, desired),
            *(_record(one, desired) for one in records if one.type in _ADDRESSES),
        )

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        """What is there already is known by its id, what is made gives one to who needs it."""
        wanted = [one for one in actions if one.action is not RouterVerb.DELETE_CANDIDATE]
        ids: dict[RouterResource, str] = {}
        with self._told(desired):
            for one in wanted:
                document = _document(desired, one.resource, ids)
                ids[one.resource] = self._put(desired, one, document)

    def _put(
        self, desired: DesiredRouting, action: RouterAction, document: Mapping[str, object]
    ) -> str:
        path = _PATHS[action.resource]
        if action.action is RouterVerb.UPDATE:
            call = sending("PUT", self._path(f"{path}/{action.ident}"), document)
            return self._patient(lambda: self._api.once(call, _WithId)).id
        if action.action is RouterVerb.NO_OP:
            return action.ident
        return self._created(desired, action, sending("POST", self._path(path), document))

    def _created(self, desired: DesiredRouting, action: RouterAction, call: ProviderCall) -> str:
        """After a try that nobody knows the end of it is looked for before it is made again."""
        tries = 0

        def act() -> str:
            nonlocal tries
            tries += 1
            made = self._ident(desired, action) if tries > 1 else ""
            return made or self._api.once(call, _WithId).id

        return self._patient(act)

    def _ident(self, desired: DesiredRouting, action: RouterAction) -> str:
        there = (one for one in self.read(desired) if one.is_ours)
        same = (action.resource, action.name)
        return next((one.ident for one in there if one.key == same), "")

    def _all(self, path: str, kind: type[T]) -> T:
        call = ProviderCall("GET", self._path(path))
        return self._patient(lambda: self._api.once(call, kind))

    def _patient(self, act: Callable[[], T]) -> T:
        return patient(act, "edge1", WAITING, UNWATCHED, self._api.rate.pause)

    def _path(self, path: str) -> str:
        account = self._api.account
        return path.format(account=account.account, zone=account.zone)

    @contextlib.contextmanager
    def _told(self, desired: DesiredRouting) -> Iterator[None]:
        with explained(f"the name `{desired.hostname}` at edge1", self._hide.quoted, _judged):
            yield


def _judged(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    problem = judged(whose, error, quoted)
    if "EDGE1_API_TOKEN" not in problem.hint:
        return problem
    hint = "check `EDGE1_API_TOKEN`, and that it may edit load balancers and read DNS of the zone"
    return replace(problem, hint=hint)


_MONITORS = "/accounts/{account}/load_balancers/monitors"
_POOLS = "/accounts/{account}/load_balancers/pools"
_BALANCERS = "/zones/{zone}/load_balancers"
_RECORDS = "/zones/{zone}/dns_records"
_PATHS = {
    RouterResource.MONITOR: _MONITORS,
    RouterResource.POOL: _POOLS,
    RouterResource.BALANCER: _BALANCERS,
}


def _document(
    desired: DesiredRouting, resource: RouterResource, ids: Mapping[RouterResource, str]
) -> Mapping[str, object]:
    if resource is RouterResource.MONITOR:
        return monitor_document(desired)
    if resource is RouterResource.POOL:
        return pool_document(desired, ids.get(RouterResource.MONITOR, ""))
    return balancer_document(desired, ids[RouterResource.POOL])


def _monitor(row: MonitorRow, desired: DesiredRouting) -> RouterPart:
    detail = f"{row.method} {row.path} by {row.type} every {row.interval} s"
    is_same = detail == monitor_detail(row.path)
    text = monitor_detail(row.path) if is_same else detail
    return RouterPart(RouterResource.MONITOR, pool_name(desired.owner), text, ident=row.id)


def _pool(row: PoolRow, monitors: Sequence[MonitorRow], desired: DesiredRouting) -> RouterPart:
    own = {one.id for one in monitors}
    origins = tuple(one.detail for one in row.origins)
    detail = pool_detail(origins, has_monitor=row.monitor in own)
    if row.monitor and row.monitor not in own:
        detail += " of ours"
    detail += "" if row.enabled else "; disabled"
    weights = tuple((one.name, one.percent) for one in row.origins)
    is_ours = row.description == managed_by(desired.owner)
    return RouterPart(RouterResource.POOL, row.name, detail, is_ours, row.id, weights)


def _balancers(
    rows: Sequence[BalancerRow], pool: PoolRow | None, desired: DesiredRouting
) -> Iterator[RouterPart]:
    """That of the name, whosever it is, and those of ours that had another name."""
    for row in rows:
        is_ours = row.description == managed_by(desired.owner)
        if not is_ours and row.name != desired.hostname:
            continue
        leads_there = pool is not None and row.default_pools == (pool.id,)
        before = balancer_detail(pool.name if pool and leads_there else "of somebody else")
        detail = before + ("" if row.proxied and row.enabled else "; not proxied, or disabled")
        yield RouterPart(RouterResource.BALANCER, row.name, detail, is_ours, row.id)


def _record(row: DnsRow, desired: DesiredRouting) -> RouterPart:
    """A balancer of the same name would hide it, and nobody would know why."""
    detail = f"a record {row.type} {row.content}"
    return RouterPart(RouterResource.BALANCER, desired.hostname, detail, is_ours=False)
