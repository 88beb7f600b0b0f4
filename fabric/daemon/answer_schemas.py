"""JSON Schemas of successful answers, for the interface description."""

from fabric.model.outcomes.json_struct import Json, JsonObject

Schema = JsonObject
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "integer"}
ANYTHING: Schema = {"type": "object"}


def build_object_schema(needed: dict[str, Schema], **more: Schema) -> Schema:
    """Build the schema of an object with exactly these fields; those of `more` are optional."""
    properties: dict[str, Json] = {**needed, **more}
    return {
        "type": "object",
        "properties": properties,
        "required": list(needed),
        "additionalProperties": False,
    }


def build_list_schema(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


_GOOD: Schema = {"const": True}
_PLACE: Schema = {
    "oneOf": [
        {"type": "null"},
        build_object_schema({"file": TEXT, "line": NUMBER, "column": NUMBER}),
    ]
}
PROBLEM = build_object_schema({"code": TEXT, "message": TEXT, "hint": TEXT, "where": _PLACE})
REFUSED: Schema = {
    "type": "object",
    "properties": {
        "ok": {"const": False},
        "error": TEXT,
        "code": TEXT,
        "problems": build_list_schema(PROBLEM),
    },
    "required": ["ok", "error", "code", "problems"],
}
VALIDATED = build_object_schema({"ok": _GOOD})
RESOLVED = build_object_schema({"ok": _GOOD, "stage": TEXT, "config": ANYTHING})
PLANNED = build_object_schema(
    {"ok": _GOOD, "stage": TEXT, "plan": ANYTHING, "warnings": build_list_schema(PROBLEM)}
)
_RELEASE = build_object_schema(
    {
        "service": TEXT,
        "stage": TEXT,
        "provider": TEXT,
        "deploymentId": TEXT,
        "endpoint": TEXT,
        "updatedAt": TEXT,
        "current": FLAG,
        "commit": TEXT,
        "branch": TEXT,
    }
)
RELEASES = build_object_schema(
    {"ok": _GOOD, "service": TEXT, "releases": build_list_schema(_RELEASE)}
)
_DEPLOYED: dict[str, Schema] = {
    "stage": TEXT,
    "mode": TEXT,
    "deployments": build_list_schema(ANYTHING),
    "warnings": build_list_schema(PROBLEM),
}
_REMOVED: dict[str, Schema] = {
    "stage": TEXT,
    "removed": build_list_schema(build_object_schema({"service": TEXT, "provider": TEXT})),
    "warnings": build_list_schema(PROBLEM),
}
DEPLOYED = build_object_schema({"ok": _GOOD, **_DEPLOYED})
REMOVED = build_object_schema({"ok": _GOOD, **_REMOVED})
DEPLOY_ACTION = build_object_schema({"ok": _GOOD, "result": build_object_schema(_DEPLOYED)})
REMOVE_ACTION = build_object_schema({"ok": _GOOD, "result": build_object_schema(_REMOVED)})
ACCEPTED = build_object_schema({"ok": _GOOD, "run": TEXT})
_ONE_RUN = build_object_schema(
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
RUNS = build_object_schema({"ok": _GOOD, "runs": build_list_schema(_ONE_RUN)})
RUN = build_object_schema({"ok": _GOOD, "run": _ONE_RUN})
_MAYBE: Schema = {"type": ["object", "null"]}
STATUS = build_object_schema(
    {
        "ok": _GOOD,
        "service": TEXT,
        "provider": TEXT,
        "stage": TEXT,
        "stages": build_list_schema(TEXT),
        "protected": FLAG,
        "live": build_list_schema(ANYTHING),
        "releases": build_list_schema(ANYTHING),
        "plan": _MAYBE,
        "graph": _MAYBE,
        "warnings": build_list_schema(PROBLEM),
        "problems": build_list_schema(PROBLEM),
        "mayChange": FLAG,
        "signedIn": FLAG,
        "version": TEXT,
    }
)
HEALTHY = build_object_schema({"ok": _GOOD})
VERSION = build_object_schema({"ok": _GOOD, "version": TEXT, "server": TEXT})
_CHECK = build_object_schema({"ok": FLAG, "message": TEXT}, hint=TEXT)
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
