"""Events of Pub/Sub topics and Cloud Storage buckets on Google Cloud: an Eventarc trigger for each
of them, which calls the function with its service account."""

import json
import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from msgspec import Struct, field

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.client import DISABLED, EVENTARC, STORAGE, build_cloud2_call
from fabric.providers.cloud2.work import Cloud2Work, OperationRow, wait_for_operation
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.ownership import OWNER, FunctionOwner, foreign_resource_problem
from fabric.providers.core.payloads import format_json

# In the stored values, before the name of a function.
EVENTS = "events:"
EVENT_KINDS = frozenset(("pubsub", "storage"))
TOPIC = re.compile(r"(?:projects/[^/\s]+/topics/)?[A-Za-z][A-Za-z0-9._~+%-]{2,254}")
_PUBLISHED = "google.cloud.pubsub.topic.v1.messagePublished"
_CREATED = "google.cloud.storage.object.v1.finalized"
_REMOVED = "google.cloud.storage.object.v1.deleted"
_OF_BUCKETS = {"ObjectCreated:*": _CREATED, "ObjectRemoved:*": _REMOVED}
_SENT = "destination,serviceAccount,labels,retryPolicy"
_PAGE = 500
_DIGEST = 8
_DENIED = 403


class EventTriggerRow(Struct, frozen=True, rename="camel"):
    name: str
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The location and the name, as in stored values."""
        _, _, _, location, _, name = self.name.split("/")
        return f"{location}/{name}"


class _TriggerPage(Struct, frozen=True, rename="camel"):
    triggers: tuple[EventTriggerRow, ...] = ()
    next_page_token: str = ""


class _BucketRow(Struct, frozen=True):
    location: str


class EventSource(Struct, frozen=True):
    """A source of events. `number` is the number of the config trigger."""

    kind: str
    name: str
    event: str
    number: int


class EventTarget(Struct, frozen=True):
    """A function that events call, with the service account of the calls."""

    name: str
    owner: FunctionOwner
    account: str


class DesiredEventTrigger(Struct, frozen=True):
    """A desired trigger of Eventarc. `id` is its location and its name."""

    id: str
    document: JsonObject
    source: EventSource

    @property
    def number(self) -> int:
        return self.source.number

    @property
    def title(self) -> str:
        kind = "topic" if self.source.kind == "pubsub" else "bucket"
        return f"its {kind} `{self.source.name}`"

    @property
    def digest(self) -> str:
        return hash_fields((self.id, format_json(self.document)))[:16]


def convert_bucket_event(event: str) -> str:
    """Return Google's type of an object event; empty if it has none."""
    return _OF_BUCKETS.get(event.partition(":")[2], "")


def list_event_sources(triggers: Sequence[str]) -> Iterator[EventSource]:
    for number, one in enumerate(map(json.loads, triggers)):
        if one.get("type") == "pubsub":
            yield EventSource("pubsub", str(one.get("topic", "")), _PUBLISHED, number)
        elif one.get("type") == "storage":
            for event in sorted({convert_bucket_event(text) for text in one.get("events", ())}):
                yield EventSource("storage", str(one.get("bucket", "")), event, number)


def plan_event_triggers(
    work: Cloud2Work, target: EventTarget, triggers: Sequence[str]
) -> dict[str, DesiredEventTrigger]:
    """Plan one Eventarc trigger per source and type. A trigger is where its bucket is."""
    found = (
        _plan_trigger(work, target, source, _choose_location(work, source))
        for source in list_event_sources(triggers)
    )
    return {one.id: one for one in found}


def _choose_location(work: Cloud2Work, source: EventSource) -> str:
    if source.kind == "pubsub":
        return work.place.region
    path = f"/storage/v1/b/{quote(source.name, safe='')}?fields=location"
    row = work.look(build_cloud2_call(STORAGE, "GET", path), _BucketRow)
    if row is None:
        message = f"the bucket `{source.name}` does not exist"
        hint = f"run: gcloud storage buckets create gs://{source.name}"
        raise FabricError(Problem("provider/gone", message, hint))
    return row.location.lower()


def _plan_trigger(
    work: Cloud2Work, target: EventTarget, source: EventSource, location: str
) -> DesiredEventTrigger:
    name = f"{target.name}-{hash_fields((source.kind, source.name, source.event))[:_DIGEST]}"
    filters = [{"attribute": "type", "value": source.event}]
    if source.kind == "storage":
        filters.append({"attribute": "bucket", "value": source.name})
    prefix = "" if "/" in source.name else f"projects/{work.place.project}/topics/"
    topic = prefix + source.name
    document: JsonObject = {
        "eventFilters": filters,
        "serviceAccount": target.account,
        "destination": {"cloudRun": {"service": target.name, "region": work.place.region}},
        "labels": {OWNER: target.owner.label},
        **({} if work.own.retry_events else {"retryPolicy": {"maxAttempts": 1}}),
        **({"transport": {"pubsub": {"topic": topic}}} if source.kind == "pubsub" else {}),
    }
    return DesiredEventTrigger(f"{location}/{name}", document, source)


def list_own_event_triggers(
    work: Cloud2Work, owner: FunctionOwner, *, is_expected: bool
) -> list[str]:
    """List the triggers of a function. If none is expected, missing permission means none."""
    try:
        return [
            one.id for one in list_all_event_triggers(work) if one.labels.get(OWNER) == owner.label
        ]
    except RefusedCallError as error:
        if is_expected or error.status != _DENIED:
            raise
        return []


def list_all_event_triggers(work: Cloud2Work) -> list[EventTriggerRow]:
    """List the triggers of all locations; none if the API was never enabled."""
    found, token = list[EventTriggerRow](), ""
    place = f"projects/{work.place.project}/locations/-"
    while True:
        query = f"pageSize={_PAGE}" + (f"&pageToken={quote(token, safe='')}" if token else "")
        call = build_cloud2_call(EVENTARC, "GET", f"/v1/{place}/triggers?{query}")
        try:
            page = work.ask(call, _TriggerPage)
        except RefusedCallError as error:
            if DISABLED in error.codes:
                return []
            raise
        found += page.triggers
        token = page.next_page_token
        if not token:
            return found


def _path_of(work: Cloud2Work, ident: str) -> str:
    location, _, name = ident.partition("/")
    return f"projects/{work.place.project}/locations/{location}/triggers/{name}"


def set_event_trigger(work: Cloud2Work, wanted: DesiredEventTrigger, owner: FunctionOwner) -> None:
    """Create or update a trigger. Its id contains everything that an update cannot change."""
    name = _path_of(work, wanted.id)
    parent, _, ident = name.rpartition("/")

    def act(work: Cloud2Work) -> None:
        row = work.look(build_cloud2_call(EVENTARC, "GET", f"/v1/{name}"), EventTriggerRow)
        if row is not None and row.labels.get(OWNER) != owner.label:
            raise FabricError(foreign_resource_problem("Eventarc trigger", ident, owner.title))
        if row is None:
            path = f"/v1/{parent}?triggerId={ident}"
            document = {"name": name, **wanted.document}
            call = build_cloud2_call(EVENTARC, "POST", path, document)
        else:
            path = f"/v1/{name}?updateMask={_SENT}"
            call = build_cloud2_call(EVENTARC, "PATCH", path, wanted.document)
        begun = work.api.once(call, OperationRow)
        wait_for_operation(work, EVENTARC, begun, wanted.title)

    work.trying(act)


def delete_event_trigger(work: Cloud2Work, ident: str) -> None:
    with ignore_missing():
        call = build_cloud2_call(EVENTARC, "DELETE", f"/v1/{_path_of(work, ident)}")
        begun = work.ask(call, OperationRow)
        wait_for_operation(work, EVENTARC, begun, f"the Eventarc trigger `{ident}`")
