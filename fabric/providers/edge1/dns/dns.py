"""Open the Cloudflare backends of routers from the environment."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.model.routing.routing import (
    DesiredRouting,
    RouterAction,
    RouterPart,
    RouterResource,
    RouterVerb,
)
from fabric.providers.core.contract import NO_CONTEXT
from fabric.providers.core.errors import Quoted, RefusedCallError, convert_refusals
from fabric.providers.core.http_calls import ProviderCall, build_json_call, retry_transient
from fabric.providers.core.provider import ProviderContext
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING
from fabric.providers.edge1.client import Edge1Api, classify_refusal
from fabric.providers.edge1.dns.dns_documents import (
    ADDRESS_TYPES,
    BalancerRow,
    DnsRow,
    MonitorRow,
    PoolRow,
    build_balancer_document,
    build_monitor_document,
    build_pool_document,
    record_document,
)
from fabric.providers.edge1.dns.dns_records import (
    BY_WEIGHT,
    build_pool_name,
    derive_weights,
    format_alias_detail,
    format_balancer_detail,
    format_ownership,
    format_pool_detail,
    plan_alias,
    plan_balancer,
    record_comment,
)
from fabric.providers.edge1.provider import read_account

T = TypeVar("T")
DNS_RECORDS = "/zones/{zone}/dns_records"


class NameCalls:
    """Calls for one hostname. `hide` holds values that no message can show; `rights` describes the
    required permissions."""

    def __init__(self, api: Edge1Api, hide: Redaction, rights: str) -> None:
        self._api = api
        self._hide = hide
        self._rights = rights

    def fetch_list(self, path: str, kind: type[T]) -> T:
        call = ProviderCall("GET", self.path(path))
        return self.patient(lambda: self.once(call, kind))

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        return self._api.once(call, kind)

    def patient(self, act: Callable[[], T]) -> T:
        return retry_transient(act, "Cloudflare", WAITING, NO_CONTEXT, self._api.rate.pause)

    def path(self, path: str) -> str:
        account = self._api.account
        return path.format(account=account.account, zone=account.zone)

    @contextlib.contextmanager
    def convert_errors(self, hostname: str) -> Iterator[None]:
        with convert_refusals(
            f"the hostname `{hostname}` at Cloudflare", self._hide.quote, self._classify_refusal
        ):
            yield

    def _classify_refusal(self, whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
        problem = classify_refusal(whose, error, quoted)
        if "EDGE1_API_TOKEN" not in problem.hint:
            return problem
        return replace(
            problem, hint=f"check `EDGE1_API_TOKEN` and its permission to {self._rights}"
        )


# The Cloudflare load balancing backend: one lookup of the zone, three reads, then the changes.


class _WithId(Struct, frozen=True):
    id: str


class Edge1Routing:
    """The load balancing backend. `hide` holds values that no message can show."""

    kind = "edge1"
    place = "Cloudflare load balancing"

    def __init__(self, api: Edge1Api, hide: Redaction) -> None:
        self._calls = NameCalls(api, hide, "edit load balancers and read DNS of the zone")

    def close(self) -> None:
        """Do nothing: the owner of the shared connection closes it."""

    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        return plan_balancer(desired)

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        named = f"{DNS_RECORDS}?name={desired.hostname}"
        with self._calls.convert_errors(desired.hostname):
            monitors = self._calls.fetch_list(_MONITORS, tuple[MonitorRow, ...])
            pools = self._calls.fetch_list(_POOLS, tuple[PoolRow, ...])
            balancers = self._calls.fetch_list(_BALANCERS, tuple[BalancerRow, ...])
            records = self._calls.fetch_list(named, tuple[DnsRow, ...])
        ours = [one for one in monitors if one.description == format_ownership(desired.owner)][:1]
        pool = next((one for one in pools if one.name == build_pool_name(desired.owner)), None)
        return (
            *(_convert_monitor(one, desired) for one in ours),
            *((_convert_pool(pool, ours, desired),) if pool else ()),
            *_list_balancers(balancers, pool, desired),
            *(_find_hidden_records(one, desired) for one in records if one.type in ADDRESS_TYPES),
        )

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        """Apply the changes. Existing objects have ids; a new object returns the id that later ones
        need."""
        wanted = [one for one in actions if one.action is not RouterVerb.DELETE_CANDIDATE]
        ids: dict[RouterResource, str] = {}
        with self._calls.convert_errors(desired.hostname):
            for one in wanted:
                document = _build_document(desired, one.resource, ids)
                ids[one.resource] = self._put(desired, one, document)

    def _put(
        self, desired: DesiredRouting, action: RouterAction, document: Mapping[str, object]
    ) -> str:
        path = _PATHS[action.resource]
        if action.action is RouterVerb.UPDATE:
            call = build_json_call("PUT", self._calls.path(f"{path}/{action.ident}"), document)
            return self._calls.patient(lambda: self._calls.once(call, _WithId)).id
        if action.action is RouterVerb.NO_OP:
            return action.ident
        return self._create_object(
            desired, action, build_json_call("POST", self._calls.path(path), document)
        )

    def _create_object(
        self, desired: DesiredRouting, action: RouterAction, call: ProviderCall
    ) -> str:
        """Create an object. After a try with an unknown outcome, it is looked for first."""
        tries = 0

        def act() -> str:
            nonlocal tries
            tries += 1
            made = self._find_ident(desired, action) if tries > 1 else ""
            return made or self._calls.once(call, _WithId).id

        return self._calls.patient(act)

    def _find_ident(self, desired: DesiredRouting, action: RouterAction) -> str:
        there = (one for one in self.read(desired) if one.is_ours)
        same = (action.resource, action.name)
        return next((one.ident for one in there if one.key == same), "")


_MONITORS = "/accounts/{account}/load_balancers/monitors"
_POOLS = "/accounts/{account}/load_balancers/pools"
_BALANCERS = "/zones/{zone}/load_balancers"
_PATHS = {
    RouterResource.MONITOR: _MONITORS,
    RouterResource.POOL: _POOLS,
    RouterResource.BALANCER: _BALANCERS,
}


def _build_document(
    desired: DesiredRouting, resource: RouterResource, ids: Mapping[RouterResource, str]
) -> Mapping[str, object]:
    if resource is RouterResource.MONITOR:
        return build_monitor_document(desired)
    if resource is RouterResource.POOL:
        return build_pool_document(desired, ids.get(RouterResource.MONITOR, ""))
    return build_balancer_document(desired, ids[RouterResource.POOL])


def _convert_monitor(row: MonitorRow, desired: DesiredRouting) -> RouterPart:
    name = build_pool_name(desired.owner)
    return RouterPart(RouterResource.MONITOR, name, row.detail, ident=row.id)


def _convert_pool(
    row: PoolRow, monitors: Sequence[MonitorRow], desired: DesiredRouting
) -> RouterPart:
    own = {one.id for one in monitors}
    origins = tuple(one.detail for one in row.origins)
    detail = format_pool_detail(origins, has_monitor=row.monitor in own)
    if row.monitor and row.monitor not in own:
        detail += " of ours"
    detail += "" if row.enabled else "; disabled"
    detail += "" if row.steering == BY_WEIGHT else f"; steering policy {row.steering}"
    weights = tuple((one.name, one.percent) for one in row.origins)
    is_ours = row.description == format_ownership(desired.owner)
    return RouterPart(
        resource=RouterResource.POOL,
        name=row.name,
        detail=detail,
        is_ours=is_ours,
        ident=row.id,
        weights=weights,
    )


def _list_balancers(
    rows: Sequence[BalancerRow], pool: PoolRow | None, desired: DesiredRouting
) -> Iterator[RouterPart]:
    """Yield the balancer of the hostname, whatever its owner, and ours of an earlier hostname."""
    for row in rows:
        is_ours = row.description == format_ownership(desired.owner)
        if not is_ours and row.name != desired.hostname:
            continue
        leads_there = pool is not None and row.default_pools == (pool.id,)
        before = format_balancer_detail(pool.name if pool and leads_there else "of another owner")
        detail = "; ".join((before, *row.oddities))
        yield RouterPart(RouterResource.BALANCER, row.name, detail, is_ours, row.id)


def _find_hidden_records(row: DnsRow, desired: DesiredRouting) -> RouterPart:
    """Find DNS records of the hostname, which a balancer would hide without notice. Ours date from
    before load balancing."""
    detail = f"a record {row.type} {row.content}"
    if row.comment == record_comment(desired.owner):
        return RouterPart(RouterResource.DNS_RECORD, row.name, detail, ident=row.id)
    return RouterPart(RouterResource.BALANCER, desired.hostname, detail, is_ours=False)


# The backend for plain DNS records of a Cloudflare zone: one read, and one atomic batch.


class _Batched(Struct, frozen=True):
    """The result of a batch: created and updated records."""

    posts: tuple[DnsRow, ...] | None = ()
    puts: tuple[DnsRow, ...] | None = ()


class Edge1PlainRecords:
    """The plain DNS backend. `hide` holds values that no message can show."""

    kind = "edge1-dns"
    place = "edge1's DNS"

    def __init__(self, api: Edge1Api, hide: Redaction) -> None:
        self._calls = NameCalls(api, hide, "edit DNS of the zone")

    def close(self) -> None:
        """Do nothing: the owner of the shared connection closes it."""

    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        return plan_alias(desired)

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        with self._calls.convert_errors(desired.hostname):
            return tuple(self._fetch_parts(desired))

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        """Apply the change. After a try with an unknown outcome, the records are read first."""
        changed = next((one for one in actions if one.changes), None)
        if changed is None:
            return
        tries = 0

        def act() -> None:
            nonlocal tries
            tries += 1
            if tries == 1 or not self._is_done(desired):
                self._send_batch(desired, changed)

        with self._calls.convert_errors(desired.hostname):
            self._calls.patient(act)

    def _is_done(self, desired: DesiredRouting) -> bool:
        wanted = {(one.key, one.detail) for one in self.want(desired)}
        return wanted <= {
            (one.key, one.detail) for one in self._fetch_parts(desired) if one.is_ours
        }

    def _send_batch(self, desired: DesiredRouting, action: RouterAction) -> None:
        document = record_document(desired)
        batch: dict[str, object] = {"posts": [document]}
        if action.action is RouterVerb.UPDATE:
            batch = {"puts": [{**document, "id": action.ident}]}
        path = self._calls.path(f"{DNS_RECORDS}/batch")
        self._calls.once(build_json_call("POST", path, batch), _Batched)

    def _fetch_parts(self, desired: DesiredRouting) -> Iterator[RouterPart]:
        """Yield all records of the hostname, and records of ours at an earlier hostname."""
        comment = record_comment(desired.owner)
        asked = f"match=any&name.exact={desired.hostname}&comment.exact={quote(comment)}"
        for row in self._calls.fetch_list(f"{DNS_RECORDS}?{asked}", tuple[DnsRow, ...]):
            is_ours = row.comment == comment
            if row.type in ADDRESS_TYPES and (is_ours or row.name == desired.hostname):
                yield _build_part(row, desired, is_ours=is_ours)


def _build_part(row: DnsRow, desired: DesiredRouting, *, is_ours: bool) -> RouterPart:
    """Build a part. A proxied record is reported: the endpoint would receive the wrong hostname, as
    without proxy."""
    detail = format_alias_detail(row.ttl, row.type, row.content)
    detail += " by a proxy" if row.proxied else ""
    is_led_to = is_ours and row.name == desired.hostname
    weights = derive_weights(row.content, desired.shares) if is_led_to else ()
    return RouterPart(
        resource=RouterResource.DNS_RECORD,
        name=row.name,
        detail=detail,
        is_ours=is_ours,
        ident=row.id,
        weights=weights,
    )


_ZONE = ("EDGE1_API_TOKEN", "EDGE1_ZONE_ID")
_BALANCED = (*_ZONE, "EDGE1_ACCOUNT_ID")


def open_edge1_routing(context: ProviderContext) -> Edge1Routing:
    return Edge1Routing(_connect_api(context, _BALANCED), context.build_redaction(_token(context)))


def open_edge1_plain_records(context: ProviderContext) -> Edge1PlainRecords:
    api = _connect_api(context, _ZONE)
    return Edge1PlainRecords(api, context.build_redaction(_token(context)))


def _connect_api(context: ProviderContext, needed: Sequence[str]) -> Edge1Api:
    return context.connect(partial(read_account, needed=needed), Edge1Api)


def _token(context: ProviderContext) -> str:
    return context.env[_ZONE[0]]
