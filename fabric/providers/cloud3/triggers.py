"""Triggers as functions of the app: their bindings, routes and schedules. No effects."""

import json
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fabric.model.names import DEFAULT_ROUTE
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.triggers import HttpRoute, convert_utc_schedule, parse_routes

STORAGE_SETTING = "AzureWebJobsStorage"
_BLOB_EVENTS = {
    "ObjectCreated:*": "Microsoft.Storage.BlobCreated",
    "ObjectRemoved:*": "Microsoft.Storage.BlobDeleted",
}


class AppFunction(Struct, frozen=True, kw_only=True):
    """A function of the app: one trigger of a function of the service, and how it is called."""

    name: str
    bindings: tuple[JsonObject, ...]
    input: str
    node: str
    python: str


def list_app_functions(orders: Sequence[FunctionOrder]) -> Iterator[AppFunction]:
    """List one function for each trigger. The first trigger has the name of the function."""
    preflights = _find_preflights(orders)
    for at, order in enumerate(orders):
        routes = {one.number: one for one in parse_routes(order.name, order.triggers)}
        for number, trigger in enumerate(map(json.loads, order.triggers)):
            name = build_function_title(order.name, number)
            if number in routes:
                methods = list_methods(routes[number], number_is_open=(at, number) in preflights)
                yield _build_http_function(name, routes[number].path, methods)
            elif trigger.get("type") == "cron":
                zone = str(trigger.get("timezone") or "")
                yield _build_clock(name, at, trigger["schedule"], zone)
            elif trigger.get("type") == "queue":
                yield _build_queue_function(name, at, trigger)
            elif trigger.get("type") == "storage":
                yield _build_blob_function(name, at, trigger)


def build_function_title(function: str, number: int) -> str:
    """Build the name of the function of the app for a trigger."""
    return function if number == 0 else f"{function}--{number}"


def convert_blob_event(event: str) -> str:
    """Return Azure's type of an object event; empty if it has none."""
    return _BLOB_EVENTS.get(event.partition(":")[2], "")


def _find_preflights(orders: Sequence[FunctionOrder]) -> set[tuple[int, int]]:
    """Find the triggers that also accept preflights: of each route the first one with CORS, as
    Azure rejects two functions with one route and one method."""
    first: dict[tuple[str, ...], tuple[int, int]] = {}
    taken = set()
    for at, order in enumerate(orders):
        for row in parse_routes(order.name, order.triggers):
            if row.method in ("OPTIONS", "ANY"):
                taken.add(row.shape)
            elif row.cors:
                first.setdefault(row.shape, (at, row.number))
    return {place for shape, place in first.items() if shape not in taken}


def list_methods(route: HttpRoute, *, number_is_open: bool) -> tuple[str, ...]:
    """List the methods of a trigger; none means all."""
    if route.method == "ANY":
        return ()
    more = ("head",) if route.method == "GET" else ()
    return (route.method.lower(), *more, *(("options",) if number_is_open else ()))


def _build_http_function(name: str, path: str, methods: Sequence[str]) -> AppFunction:
    trigger: JsonObject = {
        "type": "httpTrigger",
        "direction": "in",
        "name": "req",
        "authLevel": "anonymous",
        "route": convert_route(path),
        **({"methods": list(methods)} if methods else {}),
    }
    return AppFunction(
        name=name,
        bindings=(trigger, {"type": "http", "direction": "out", "name": "$return"}),
        input="req",
        node="{ await app.http(context, req); return context.res; }",
        python="app.answer_request(req)",
    )


def _build_clock(name: str, at: int, schedule: str, zone: str) -> AppFunction:
    trigger: JsonObject = {
        "type": "timerTrigger",
        "direction": "in",
        "name": "timer",
        "schedule": convert_schedule(schedule, zone),
        "runOnStartup": False,
    }
    text = json.dumps(schedule)
    return AppFunction(
        name=name,
        bindings=(trigger,),
        input="timer",
        node=f"app.event({at}, app.clock({text}))",
        python=f"app.call_with_event({at}, app.build_clock_event({text}))",
    )


def _build_queue_function(name: str, at: int, trigger: Mapping[str, object]) -> AppFunction:
    queue = str(trigger.get("queue", ""))
    binding: JsonObject = {
        "type": "queueTrigger",
        "direction": "in",
        "name": "item",
        "queueName": queue,
        "connection": STORAGE_SETTING,
    }
    text = json.dumps(queue)
    return AppFunction(
        name=name,
        bindings=(binding,),
        input="item",
        node=f"app.event({at}, app.messageOf({text}, context, item))",
        python=f"app.call_with_event({at}, app.build_message_event({text}, item))",
    )


def _build_blob_function(name: str, at: int, trigger: Mapping[str, object]) -> AppFunction:
    """Build a function that Event Grid calls. It receives no content, as at other providers."""
    text = json.dumps(str(trigger.get("bucket", "")))
    return AppFunction(
        name=name,
        bindings=({"type": "eventGridTrigger", "direction": "in", "name": "change"},),
        input="change",
        node=f"app.event({at}, app.blobOf({text}, change))",
        python=f"app.call_with_event({at}, app.build_blob_event({text}, change))",
    )


def convert_route(path: str) -> str:
    """Convert a path. Parameters are numbered: the adapter reads their names elsewhere."""
    if path == DEFAULT_ROUTE:
        return "{*rest}"
    parts = [one for one in path.strip("/").split("/") if one]
    found = [
        one if not one.startswith("{") else f"{{{'*' if one.endswith('+}') else ''}p{number}}}"
        for number, one in enumerate(parts)
    ]
    return "/".join(found) or "/"


def convert_schedule(schedule: str, zone: str) -> str:
    """Convert a schedule to NCRONTAB, which has six fields. Raises a ValueError if it cannot be
    expressed."""
    return f"0 {convert_utc_schedule(schedule, zone, 'Azure')}"
