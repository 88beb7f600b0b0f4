"""JSON Schemas of successful answers, for the interface description."""

from fabric.model.outcomes.json_struct import Json, JsonObject

Schema = JsonObject
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}
ANYTHING: Schema = {"type": "object"}


def fields(needed: dict[str, Schema], **more: Schema) -> Schema:
    """Build the schema of an object with exactly these fields; those of `more` are optional."""
    properties: dict[str, Json] = {**needed, **more}
    return {
        "type": "object",
        "properties": properties,
        "required": list(needed),
        "additionalProperties": False,
    }


def rows(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


_GOOD: Schema = {"const": True}
_PLACE: Schema = {
    "oneOf": [
        {"type": "null"},
        fields({"file": TEXT, "line": NUMBER, "column": NUMBER}),
    ]
}
PROBLEM = fields({"code": TEXT, "message": TEXT, "hint": TEXT, "where": _PLACE})
REFUSED: Schema = {
    "type": "object",
    "properties": {"ok": {"const": False}, "error": TEXT, "code": TEXT, "problems": rows(PROBLEM)},
    "required": ["ok", "error", "code", "problems"],
}
VALIDATED = fields({"ok": _GOOD})
RESOLVED = fields({"ok": _GOOD, "stage": TEXT, "config": ANYTHING})
PLANNED = fields({"ok": _GOOD, "stage": TEXT, "plan": ANYTHING, "warnings": rows(PROBLEM)})
_RELEASE = fields(
    {
        "service": TEXT,
        "stage": TEXT,
        "provider": TEXT,
        "deploymentId": TEXT,
        "endpoint": TEXT,
        "updatedAt": TEXT,
        "current": FLAG,
    }
)
RELEASES = fields({"ok": _GOOD, "service": TEXT, "releases": rows(_RELEASE)})
_DEPLOYED: dict[str, Schema] = {
    "stage": TEXT,
    "mode": TEXT,
    "deployments": rows(ANYTHING),
    "warnings": rows(PROBLEM),
}
_REMOVED: dict[str, Schema] = {
    "stage": TEXT,
    "removed": rows(fields({"service": TEXT, "provider": TEXT})),
    "warnings": rows(PROBLEM),
}
DEPLOYED = fields({"ok": _GOOD, **_DEPLOYED})
REMOVED = fields({"ok": _GOOD, **_REMOVED})
DEPLOY_ACTION = fields({"ok": _GOOD, "result": fields(_DEPLOYED)})
REMOVE_ACTION = fields({"ok": _GOOD, "result": fields(_REMOVED)})
ACCEPTED = fields({"ok": _GOOD, "run": TEXT})
_ONE_RUN = fields(
    {
        "id": TEXT,
        "command": TEXT,
        "service": TEXT,
        "stage": TEXT,
        "status": {"enum": ["running", "succeeded", "failed", "partial", "cancelled"]},
        "startedAt": TEXT,
        "endedAt": {"type": ["string", "null"]},
        "result": {"type": ["object", "null"]},
    },
    error=ANYTHING,
)
RUNS = fields({"ok": _GOOD, "runs": rows(_ONE_RUN)})
RUN = fields({"ok": _GOOD, "run": _ONE_RUN})
_MAYBE: Schema = {"type": ["object", "null"]}
STATUS = fields(
    {
        "ok": _GOOD,
        "service": TEXT,
        "provider": TEXT,
        "stage": TEXT,
        "stages": rows(TEXT),
        "protected": FLAG,
        "live": rows(ANYTHING),
        "releases": rows(ANYTHING),
        "plan": _MAYBE,
        "graph": _MAYBE,
        "warnings": rows(PROBLEM),
        "problems": rows(PROBLEM),
        "mayChange": FLAG,
        "signedIn": FLAG,
        "version": TEXT,
    }
)
HEALTHY = fields({"ok": _GOOD})
VERSION = fields({"ok": _GOOD, "version": TEXT, "server": TEXT})
_CHECK = fields({"ok": FLAG, "message": TEXT}, hint=TEXT)
READY: Schema = {
    "type": "object",
    "properties": {
        "ok": FLAG,
        "insecure": FLAG,
        "draining": FLAG,
        "checks": {"type": "object", "additionalProperties": _CHECK},
    },
    "required": ["ok", "insecure", "draining", "checks"],
    "additionalProperties": False,
}
# As a reader of the stream sees each of them.
EVENT: Schema = {
    "type": "object",
    "properties": {"id": TEXT, "event": TEXT, "data": TEXT},
    "required": ["id", "event", "data"],
}
