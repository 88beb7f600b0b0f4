"""PowerDNS: its API, and the records of a hostname there."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

import msgspec
from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.routing.routing import (
    DesiredRouting,
    RouterAction,
    RouterPart,
    RouterResource,
    Weights,
)
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.model.secrets.secret import Secret
from fabric.providers.core.errors import (
    Quoted,
    RefusedCallError,
    convert_refusals,
    refuse_plain,
    require_variables,
)
from fabric.providers.core.http_calls import (
    ProviderCall,
    build_json_call,
    decode_reply,
    open_provider_http,
)
from fabric.providers.core.provider import ProviderContext
from fabric.providers.core.redaction import Redaction
from fabric.providers.pdns.desired import format_content, plan_rrset, record_type
from fabric.system.http.http_client import Http, HttpReply, HttpRequest
from fabric.system.retry import Patience, retry

# One server that answers at once, or is not well: whoever waits for it has a name to lead.
_SECONDS = 8.0
_PATIENCE = Patience(tries=3)
_ACCOUNT = "fabric"
# Of these one name has one kind only.
_ADDRESSES = ("LUA", "CNAME", "A", "AAAA", "ALIAS")
_CHOICE = re.compile(r"\{(\d+),'([^']*)'\}")
_FORBIDDEN = (401, 403)


class PdnsComment(Struct, frozen=True):
    content: str = ""
    account: str = ""


class PdnsRecord(Struct, frozen=True):
    content: str
    disabled: bool = False


class RecordSet(Struct, frozen=True):
    """All records of one name and type."""

    name: str
    type: str
    ttl: int = 0
    records: tuple[PdnsRecord, ...] = ()
    comments: tuple[PdnsComment, ...] = ()


class RecordSetChange(Struct, frozen=True):
    name: str
    type: str
    changetype: str
    ttl: int = 0
    records: tuple[PdnsRecord, ...] = ()
    comments: tuple[PdnsComment, ...] = ()


class _Zone(Struct, frozen=True):
    rrsets: tuple[RecordSet, ...] = ()


class _PdnsRefusal(Struct, frozen=True):
    error: str = ""


class PdnsServer(Struct, frozen=True):
    base_url: str
    key: Secret[str]
    server: str = "localhost"


class PdnsApi:
    """Client of one server. Every call is idempotent."""

    def __init__(self, server: PdnsServer, http: Http) -> None:
        self.server = server
        self._http = http

    def close(self) -> None:
        self._http.close()

    def record_sets(self, zone: str, name: str) -> tuple[RecordSet, ...] | None:
        """Fetch the record sets of a name, or None if the zone does not exist."""
        call = ProviderCall("GET", f"{self._build_zone_path(zone)}?rrset_name={quote(name)}")
        return retry(lambda: self._fetch_record_sets(call), _PATIENCE)

    def _fetch_record_sets(self, call: ProviderCall) -> tuple[RecordSet, ...] | None:
        """Fetch record sets, again after a truncated response."""
        reply = self._send_call(call)
        if reply.status in (404, 422):
            return None
        return decode_reply(call, self._require_ok(call, reply), _Zone).rrsets

    def change(self, zone: str, changes: Sequence[RecordSetChange]) -> None:
        """Change record sets in one atomic call."""
        call = build_json_call("PATCH", self._build_zone_path(zone), {"rrsets": changes})
        retry(lambda: self._require_ok(call, self._send_call(call)), _PATIENCE)

    def _build_zone_path(self, zone: str) -> str:
        server = quote(self.server.server, safe="")
        return f"/api/v1/servers/{server}/zones/{quote(zone, safe='')}"

    def _send_call(self, call: ProviderCall) -> HttpReply:
        headers = {"X-API-Key": self.server.key.reveal()}
        if call.content:
            headers["Content-Type"] = call.content_type
        url = self.server.base_url.rstrip("/") + call.path
        return self._http.send(
            HttpRequest(call.method, url, Secret(headers), call.content, _SECONDS)
        )

    def _require_ok(self, call: ProviderCall, reply: HttpReply) -> HttpReply:
        if reply.ok:
            return reply
        try:
            words = msgspec.json.decode(reply.content, type=_PdnsRefusal).error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            words = ""
        raise RefusedCallError(reply.status, words, call.title)


class PdnsBackend:
    """The PowerDNS backend. `hide` holds values that no message can show."""

    kind = "pdns"

    def __init__(self, api: PdnsApi, hide: Redaction) -> None:
        self._api = api
        self._hide = hide
        self._zones: dict[str, str] = {}

    @property
    def place(self) -> str:
        return redact_userinfo(self._api.server.base_url)

    def close(self) -> None:
        self._api.close()

    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        return plan_rrset(desired)

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        name = f"{desired.hostname}."
        with self._convert_errors(name):
            sets = [one for one in self._fetch_sets(name) if one.type in _ADDRESSES]
        return tuple(_build_part(one, desired) for one in sets)

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        """Apply the records and replace records of ours of the other type in the same call.

        The server accepts every change, so records that others added meanwhile are checked for.
        """
        if not any(one.changes for one in actions):
            return
        name, kind = f"{desired.hostname}.", record_type(desired)
        with self._convert_errors(name):
            there = [one for one in self._fetch_sets(name) if one.type in _ADDRESSES]
            _refuse_foreign(there, desired)
            others = [
                RecordSetChange(one.name, one.type, "DELETE") for one in there if one.type != kind
            ]
            self._api.change(self._zones[name], (*others, _change(desired, name, kind)))

    def _fetch_sets(self, name: str) -> tuple[RecordSet, ...]:
        """Fetch the record sets from the closest zone above the name."""
        known = self._zones.get(name)
        for zone in (known,) if known else _list_parent_zones(name):
            found = self._api.record_sets(zone, name)
            if found is not None:
                self._zones[name] = zone
                return tuple(one for one in found if one.name.lower() == name)
        if self._api.record_sets(name, name) is not None:
            raise FabricError(_apex_problem(name))
        raise FabricError(_missing_zone_problem(name))

    @contextlib.contextmanager
    def _convert_errors(self, name: str) -> Iterator[None]:
        with convert_refusals(
            f"the hostname `{name.rstrip('.')}` at PowerDNS", self._hide.quote, _classify_refusal
        ):
            yield


def _list_parent_zones(name: str) -> Iterator[str]:
    """Yield the zones above a name. At the zone apex, CNAME records are impossible."""
    labels = name.rstrip(".").split(".")
    for start in range(1, len(labels)):
        yield ".".join(labels[start:]) + "."


def _build_part(found: RecordSet, desired: DesiredRouting) -> RouterPart:
    texts = sorted(one.content for one in found.records if not one.disabled)
    detail = f"{found.ttl} {found.type} {' '.join(texts)}"
    is_ours = _is_ours(found, desired.owner)
    weights = _read_weights(texts, desired) if is_ours else ()
    return RouterPart(
        resource=RouterResource.DNS_RECORD,
        name=found.name.lower(),
        detail=detail,
        is_ours=is_ours,
        ident=found.type,
        weights=weights,
    )


def _read_weights(texts: Sequence[str], desired: DesiredRouting) -> Weights:
    """Read the weights. A record contains hosts, which the current endpoints map to labels."""
    labels = {f"{one.host}.": one.label for one in desired.shares}
    found = (pair for text in texts for pair in _CHOICE.findall(text))
    return tuple((labels[host], int(weight)) for weight, host in found if host in labels)


def _is_ours(found: RecordSet, owner: str) -> bool:
    return any(one.account == _ACCOUNT and one.content == owner for one in found.comments)


def _refuse_foreign(there: Sequence[RecordSet], desired: DesiredRouting) -> None:
    parts = (_build_part(one, desired) for one in there)
    foreign = [one for one in parts if not one.is_ours]
    if foreign:
        named = ", ".join(f"`{one.name}` {one.detail}" for one in foreign)
        message = f"the hostname was changed by another process: {named}"
        hint = "decide who manages the hostname, or choose another `hostname`; it was not changed"
        raise FabricError(Problem("router/foreign", message, hint))


def _change(desired: DesiredRouting, name: str, kind: str) -> RecordSetChange:
    return RecordSetChange(
        name=name,
        type=kind,
        changetype="REPLACE",
        ttl=desired.ttl,
        records=(PdnsRecord(format_content(desired)),),
        comments=(PdnsComment(desired.owner, _ACCOUNT),),
    )


def _apex_problem(name: str) -> Problem:
    plain = name.rstrip(".")
    message = f"`{plain}` is the apex of its zone, where no alias is possible"
    return Problem("router/apex", message, f"choose a name below it, such as `api.{plain}`")


def _missing_zone_problem(name: str) -> Problem:
    message = f"no zone of the server contains `{name.rstrip('.')}`"
    return Problem("router/no-zone", message, "create the zone, or correct `hostname`")


def _classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    said = quoted(error.words)
    if error.status in _FORBIDDEN:
        message = f"{whose}: the server rejected the API key (`{error.call}`: {said})"
        return Problem("credentials/refused", message, "check `PDNS_API_KEY`")
    return Problem("router/refused", f"{whose}: `{error.call}` was rejected: {said}")


def open_pdns_backend(context: ProviderContext) -> PdnsBackend:
    env = context.env
    require_variables("pdns", env, ("PDNS_API_BASE_URL", "PDNS_API_KEY"))
    url, key = env["PDNS_API_BASE_URL"], env["PDNS_API_KEY"]
    refuse_plain("PDNS_API_BASE_URL", url)
    server = PdnsServer(url, Secret(key), env.get("PDNS_SERVER_ID") or "localhost")
    api = context.connections.find_or_make(
        ("pdns", url, server.server, key), lambda: PdnsApi(server, open_provider_http("pdns"))
    )
    return PdnsBackend(api, context.build_redaction(key))
