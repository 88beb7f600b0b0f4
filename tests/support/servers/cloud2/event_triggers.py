"""Eventarc: triggers of topics and buckets, and their delivery; buckets, as far as triggers read
them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.support.servers.cloud2.functions import Names, place_of
from tests.support.servers.cloud2.project import Cloud2Project
from tests.support.servers.cloud2.refusals import RefusedRequestError, invalid, not_found

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_PUBLISHED = "google.cloud.pubsub.topic.v1.messagePublished"
_STORED = "google.cloud.storage.object.v1."
_PATCHED = frozenset(("destination", "serviceAccount", "labels", "retryPolicy"))
_PAGE = 2


def _name(names: Names) -> str:
    return f"{place_of(names)}/triggers/{names['triggersId']}"


def _filters(trigger: Mapping[str, Any]) -> dict[str, str]:
    return {one["attribute"]: one["value"] for one in trigger["eventFilters"]}


def _checked(project: Cloud2Project, trigger: dict[str, Any], location: str) -> dict[str, Any]:
    if not trigger.get("serviceAccount"):
        raise invalid("service account is required for a Cloud Run destination")
    target = trigger["destination"]["cloudRun"]
    if target["service"] not in project.services:
        raise not_found(f"services/{target['service']}")
    if trigger.get("retryPolicy", {}).get("maxAttempts", 1) != 1:
        raise invalid("the only valid value of max_attempts is 1")
    _checked_source(project, trigger, location)
    return trigger


def _checked_source(project: Cloud2Project, trigger: Mapping[str, Any], location: str) -> None:
    filters = _filters(trigger)
    kind, bucket = filters.get("type", ""), filters.get("bucket", "")
    if kind == _PUBLISHED:
        topic = trigger["transport"]["pubsub"]["topic"].rpartition("/")[2]
        if set(filters) != {"type"} or topic not in project.topics:
            raise not_found(f"projects/{project.id}/topics/{topic}")
        return
    if not kind.startswith(_STORED):
        raise invalid(f"type {kind} is not supported")
    if set(filters) != {"type", "bucket"} or bucket not in project.buckets:
        raise invalid("Bucket does not exist")
    if project.buckets[bucket].lower() != location:
        raise invalid("Bucket location does not match trigger location")


def _begun(project: Cloud2Project, names: Names, result: dict[str, Any]) -> dict[str, Any]:
    return {"name": project.begun(place_of(names), lambda: result, looks=1).name, "done": False}


def create(project: Cloud2Project, names: Names, query: Names, body: Any) -> Any:
    ident = query["triggerId"]
    name = f"{place_of(names)}/triggers/{ident}"
    if name in project.event_triggers:
        raise RefusedRequestError(409, "ALREADY_EXISTS", f"Resource '{name}' already exists")
    if not _NAME.fullmatch(ident) or body.get("name") != name:
        raise invalid(f"trigger id {ident} is not valid")
    project.event_triggers[name] = _checked(project, dict(body), names["locationsId"])
    return _begun(project, names, project.event_triggers[name])


def get(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    found = project.event_triggers.get(_name(names))
    if found is None:
        raise not_found(_name(names))
    return found


def patch(project: Cloud2Project, names: Names, query: Names, body: Any) -> Any:
    found = dict(get(project, names, {}, None))
    for field in query["updateMask"].split(","):
        if field not in _PATCHED:
            raise invalid(f"{field} cannot be changed")
        found.pop(field, None)
        found |= {field: body[field]} if field in body else {}
    project.event_triggers[_name(names)] = _checked(project, found, names["locationsId"])
    return _begun(project, names, found)


def delete(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    found = get(project, names, {}, None)
    del project.event_triggers[_name(names)]
    return _begun(project, names, found)


def listed(project: Cloud2Project, names: Names, query: Names, _body: Any) -> Any:
    place = place_of(names)
    rows = [
        one
        for name, one in sorted(project.event_triggers.items())
        if names["locationsId"] == "-" or name.startswith(f"{place}/")
    ]
    start = int(query.get("pageToken") or 0)
    more = {"nextPageToken": str(start + _PAGE)} if start + _PAGE < len(rows) else {}
    return {"triggers": rows[start : start + _PAGE], **more}


def bucket(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    location = project.buckets.get(names["bucket"])
    if location is None:
        raise not_found(names["bucket"])
    return {"location": location.upper()}


def deliveries(
    project: Cloud2Project, source: str, kind: str, data: Mapping[str, Any]
) -> list[tuple[str, bytes, dict[str, str]]]:
    """What Eventarc sends for an event: address, body and headers, for each trigger that fits."""
    found = []
    for trigger in project.event_triggers.values():
        filters = _filters(trigger)
        topic = trigger.get("transport", {}).get("pubsub", {}).get("topic", "").rpartition("/")[2]
        if filters["type"] != kind or source not in (topic, filters.get("bucket")):
            continue
        headers = {
            "Authorization": f"Bearer oidc-{trigger['serviceAccount']}",
            "Content-Type": "application/json",
            "ce-id": "1",
            "ce-specversion": "1.0",
            "ce-type": kind,
            "ce-source": f"//events/{source}",
            "ce-time": "2026-01-02T03:04:05Z",
        }
        url = project.url(trigger["destination"]["cloudRun"]["service"]) + "/"
        mode = "?__GCP_CloudEventsMode=CE_PUBSUB_BINDING" if kind == _PUBLISHED else ""
        found.append((url + mode, json.dumps(data).encode(), headers))
    return found
