"""Handlers and events of the Serverless Framework at providers other than AWS."""

import re

from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.event_target import EventTarget
from fabric.importing.packaging import put_file_entry
from fabric.importing.rules import is_true
from fabric.importing.source import At

_RESOURCE = re.compile(r"projects/[^/]+/(topics|buckets)/([^/]+)")
# Ends of the types of Google Cloud for changes of objects.
_CHANGES = {
    "object.finalize": "objstore1:ObjectCreated:*",
    "object.change": "objstore1:ObjectCreated:*",
    "object.delete": "objstore1:ObjectRemoved:*",
}
GOOGLE, AZURE = "google", "azure"
# The file of a Google function, whose handler is only the name of an export.
_FILES = {"nodejs": "index", "python": "main"}


def put_google_entry(context: Context, at: At, runtime: str, function: Fields) -> bool:
    """Put the entry of a handler that has no file. Return whether it is one."""
    text = context.read_text(at)
    file = next((name for family, name in _FILES.items() if runtime.startswith(family)), "")
    if not file or not text.isidentifier():
        return False
    put_file_entry(context, at, f"{file}.{text}", function)
    return True


def convert_google_events(context: Context, events: At, target: EventTarget) -> list[At]:
    """Convert events of topics and buckets, and return the others."""
    others: list[At] = []
    for item in events.list_items():
        at = item.get("event")
        if at.is_missing:
            others.append(item)
        else:
            _convert_google_event(context, at, target)
    return others


def _convert_google_event(context: Context, at: At, target: EventTarget) -> None:
    kind, resource = at.get("eventType"), at.get("resource")
    found = _RESOURCE.fullmatch(resource.text)
    section, name = found.groups() if found else ("", "")
    change = next((new for end, new in _CHANGES.items() if kind.text.endswith(end)), "")
    if section == "topics" and kind.text.endswith("publish"):
        target.add(at, "pubsub").put("topic", name, resource)
    elif section == "buckets" and change:
        trigger = target.add(at, "storage")
        trigger.put("bucket", name, resource)
        trigger.put("events", [change], kind)
        trigger.put_flag("existingBucket", value=True)
    else:
        reason = f"events of type `{kind.text}` of Google Cloud are not supported"
        context.ledger.lose(at, reason, "add a trigger to the function in fabric.yml")
        return
    context.ledger.carry(kind, resource)
    for one in at.list_entries():
        if one.key not in ("eventType", "resource"):
            context.ledger.lose(one, "the event has no such setting in fabric")


def convert_azure_events(context: Context, function: At, target: EventTarget) -> None:
    """Convert HTTP events, whose settings are beside the key. Azure routes them below `/api`."""
    for one in function.get("events").list_items():
        if not is_true(one.get("http")):
            reason = f"events of type `{_find_type(one)}` of Azure are not supported"
            context.ledger.lose(one, reason, "add a trigger to the function in fabric.yml")
            continue
        path = f"api/{one.get('route').text or function.key}"
        for method in context.read_texts(one.get("methods")) or ["ANY"]:
            target.add_route(context, one, method, path)
        for at in one.list_entries():
            if at.key in ("http", "methods", "route") or at.text == "anonymous":
                context.ledger.carry(at)
            elif at.key == "authLevel":
                reason = "routes of fabric have no keys of Azure functions"
                context.ledger.lose(at, reason, "check the caller in the function")
            else:
                context.ledger.lose(at, "the event has no such setting in fabric")


def _find_type(event: At) -> str:
    return next((one.key for one in event.list_entries()), event.text)
