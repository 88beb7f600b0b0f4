"""The package of alarms that an installation may have, and cloud5's own clocks."""

import re
from typing import Any

from tests.support.servers.whisk.namespaces import Namespace, RefusedError, Row, new_id

_FIELD = r"(?:[\d*,/A-Za-z-]+)"
_CRON = re.compile(rf"{_FIELD}(?: {_FIELD}){{4,5}}")


def alarm(space: Namespace, given: Row) -> Row:
    """What became of telling it, as the activation that it is."""
    name = str(given.get("triggerName", "")).rpartition("/")[2]
    error = _told(space, name, given)
    result: Row = {"error": {"error": error}} if error else {"status": "success"}
    response = {
        "success": not error,
        "status": "application error" if error else "success",
        "result": result,
    }
    made: Row = {"activationId": new_id(), "name": "alarm", "response": response, "logs": []}
    space.activations[made["activationId"]] = made
    return made


def _told(space: Namespace, name: str, given: Row) -> str:
    if given.get("authKey") != space.key:
        return "Trigger authentication request failed."
    match given.get("lifecycleEvent"):
        case "CREATE":
            return _create(space, name, given)
        case "DELETE":
            return "" if space.alarms.pop(name, None) else f"could not find trigger {name}"
        case other:
            return f"unsupported lifecycleEvent {other}"


def _create(space: Namespace, name: str, given: Row) -> str:
    if name not in space.triggers:
        return "Trigger authentication request failed."
    if name in space.alarms:
        return "Document update conflict."
    if not _CRON.fullmatch(given.get("cron", "")):
        return f"cron pattern '{given.get('cron')}' is not valid"
    payload = given.get("trigger_payload", {})
    zone = given.get("timezone", "")
    space.alarms[name] = {"cron": given["cron"], "payload": payload, "timezone": zone}
    return ""


def clock_call(space: Namespace, method: str, name: str, body: Any) -> tuple[int, Row]:
    """cloud5's own triggers."""
    match method, bool(name):
        case "GET", False:
            return 200, {"triggers": list(space.schedules.values())}
        case "POST", False:
            return 200, {"trigger": _posted(space, body)}
    if name not in space.schedules:
        raise RefusedError(404, "trigger not found")
    row = space.schedules[name]
    match method:
        case "DELETE":
            del space.schedules[name]
            return 204, {}
        case "PUT":
            if body.keys() - {"is_enabled", "scheduled_details"}:
                raise RefusedError(400, "only is_enabled and scheduled_details may change")
            row.update(body)
    return 200, {"trigger": row}


def _posted(space: Namespace, body: Row) -> Row:
    wanted = {"name", "function", "type", "is_enabled", "scheduled_details"}
    if body.keys() != wanted or body["type"] != "SCHEDULED":
        raise RefusedError(400, f"a trigger has {sorted(wanted)}")
    if body["name"] in space.schedules:
        raise RefusedError(400, "trigger already exists")
    details = body["scheduled_details"]
    if not _CRON.fullmatch(details.get("cron", "")) or len(details["cron"].split()) != 5:
        raise RefusedError(400, "invalid cron expression")
    if body["function"] not in space.actions:
        raise RefusedError(400, "function does not exist")
    space.schedules[body["name"]] = {"namespace": space.name, **body}
    return space.schedules[body["name"]]
