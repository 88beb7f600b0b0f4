"""Client of the PowerDNS API: zones and record sets as typed values."""

from collections.abc import Sequence
from urllib.parse import quote

import msgspec
from msgspec import Struct

from fabric.model.secret import Secret
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.http_calls import ProviderCall, build_json_call, decode_reply
from fabric.system.http_client import Http, HttpReply, HttpRequest
from fabric.system.retry import Patience, retry

# One server that answers at once, or is not well: whoever waits for it has a name to lead.
_SECONDS = 8.0
_PATIENCE = Patience(tries=3)


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
