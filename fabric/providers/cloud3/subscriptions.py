"""Subscriptions of Event Grid: created and deleted blobs call functions of the app.

They belong to the storage account, and their names contain the owner and a hash of their content.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.cloud3.blobs import storage_path
from fabric.providers.cloud3.client import (
    Cloud3Call,
    Cloud3Work,
    build_versioned_call,
    build_web_call,
)
from fabric.providers.cloud3.operations import OperationRow, change
from fabric.providers.cloud3.triggers import build_function_title, convert_blob_event
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.errors import ignore_missing
from fabric.providers.core.payloads import format_json
from fabric.providers.core.whole_service import wait_until_ready

GRID_VERSION = "2022-06-15"
_KIND = "event subscription"
_OWNER_LENGTH, _DIGEST_LENGTH = 8, 16


class BlobSubscription(Struct, frozen=True, kw_only=True):
    """A subscription of one trigger. `function` is the function of the app that it calls."""

    name: str
    function: str
    document: JsonObject


class _SubscriptionState(Struct, frozen=True, rename="camel"):
    provisioning_state: str = ""


class SubscriptionRow(Struct, frozen=True):
    """A subscription at Azure."""

    name: str = ""
    properties: _SubscriptionState = _SubscriptionState()

    @property
    def is_broken(self) -> bool:
        return self.properties.provisioning_state in ("Failed", "Canceled")


class _SubscriptionPage(Struct, frozen=True, rename="camel"):
    value: tuple[SubscriptionRow, ...] = ()
    next_link: str | None = None


class _FunctionRow(Struct, frozen=True):
    name: str = ""


def plan_subscriptions(
    work: Cloud3Work, functions: Sequence[LiveFunction]
) -> tuple[BlobSubscription, ...]:
    return tuple(
        _plan_subscription(work, build_function_title(one.name, number), trigger)
        for one in functions
        for number, trigger in enumerate(map(json.loads, one.triggers))
        if trigger.get("type") == "storage"
    )


def _plan_subscription(
    work: Cloud3Work, function: str, trigger: Mapping[str, object]
) -> BlobSubscription:
    container, prefix = str(trigger.get("bucket", "")), str(trigger.get("prefix") or "")
    events = trigger.get("events")
    asked = events if isinstance(events, list) else ()
    destination: JsonObject = {
        "resourceId": f"{work.site()}/functions/{function}",
        "maxEventsPerBatch": 1,
        "preferredBatchSizeInKilobytes": 64,
    }
    document: JsonObject = {
        "properties": {
            "destination": {"endpointType": "AzureFunction", "properties": destination},
            "filter": {
                "includedEventTypes": sorted({convert_blob_event(str(one)) for one in asked}),
                "subjectBeginsWith": f"/blobServices/default/containers/{container}/blobs/{prefix}",
                "subjectEndsWith": str(trigger.get("suffix") or ""),
                "isSubjectCaseSensitive": True,
            },
            "eventDeliverySchema": "EventGridSchema",
        }
    }
    digest = hash_fields((format_json(document),))[:_DIGEST_LENGTH]
    return BlobSubscription(name=_own_prefix(work) + digest, function=function, document=document)


def _own_prefix(work: Cloud3Work) -> str:
    return f"fabric-{work.owner.digest[:_OWNER_LENGTH]}-"


def update_subscriptions(work: Cloud3Work, wanted: Sequence[BlobSubscription]) -> None:
    """Create the wanted subscriptions of a published version, and then delete all others of the
    service."""
    rows = list(list_own_subscriptions(work))
    working = {one.name for one in rows if not one.is_broken}
    for one in wanted:
        if one.name not in working:
            _await_function(work, one.function)
            call = _build_call(work, "PUT", one.name, one.document)
            change(work, call, _KIND, one.name)
    staying = {one.name for one in wanted}
    for name in sorted({one.name for one in rows} - staying):
        with ignore_missing():
            change(work, _build_call(work, "DELETE", name), _KIND, name)


def list_own_subscriptions(work: Cloud3Work) -> Iterator[SubscriptionRow]:
    """List the subscriptions of the service. None if the storage account does not exist."""
    call = _build_call(work, "GET")
    base = work.account.base_url.rstrip("/")
    while True:
        page = work.look(call, _SubscriptionPage) or _SubscriptionPage()
        for one in page.value:
            if one.name.startswith(_own_prefix(work)):
                yield one
        if not (page.next_link or "").startswith(f"{base}/"):
            return
        call = Cloud3Call("GET", str(page.next_link).removeprefix(base))


def _build_call(
    work: Cloud3Work, method: str, name: str = "", document: object = None
) -> Cloud3Call:
    path = f"{storage_path(work)}/providers/Microsoft.EventGrid/eventSubscriptions"
    return build_versioned_call(method, f"{path}/{name}".rstrip("/"), GRID_VERSION, document)


def _await_function(work: Cloud3Work, function: str) -> None:
    """Wait until Azure knows a function of the published package."""
    starting = OperationRow(ident=function, state_word="being registered")
    call = build_web_call("GET", work.site(f"/functions/{function}"))

    def fetch() -> OperationRow:
        found = work.look(call, _FunctionRow)
        ready = OperationRow(ident=function, state_word="registered", is_ready=True)
        return starting if found is None else ready

    wait_until_ready(work, starting, "function", fetch)
