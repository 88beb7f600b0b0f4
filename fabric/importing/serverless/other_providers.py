"""Handlers and events of the Serverless Framework at providers other than AWS."""

from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.event_target import EventTarget
from fabric.importing.packaging import put_file_entry
from fabric.importing.rules import is_true
from fabric.importing.source import At

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
