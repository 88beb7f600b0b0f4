"""The backend for plain DNS records of a Cloudflare zone: one read, and one atomic batch."""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from msgspec import Struct

from fabric.model.routing import (
    DesiredRouting,
    RouterAction,
    RouterPart,
    RouterResource,
    RouterVerb,
)
from fabric.providers.core.http_calls import build_json_call
from fabric.providers.core.redaction import Redaction
from fabric.providers.edge1.client import Edge1Api
from fabric.providers.edge1.routing.calls import DNS_RECORDS, NameCalls
from fabric.providers.edge1.routing.documents import ADDRESS_TYPES, DnsRow, record_document
from fabric.providers.edge1.routing.plain_record import (
    derive_weights,
    format_alias_detail,
    plan_alias,
    record_comment,
)


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
