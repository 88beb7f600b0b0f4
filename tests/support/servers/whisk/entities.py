"""Entities of a namespace, as a controller takes and tells them."""

import base64
import binascii
import io
import re
import zipfile
from collections.abc import Mapping
from typing import Any

from tests.support.servers.whisk.namespaces import Namespace, RefusedError, Row, pairs_of

_NAME = re.compile(r"[\w]|[\w][\w@ .&-]{0,254}[\w@.&-]", re.ASCII)
KINDS = frozenset(
    (
        *("nodejs:default", "nodejs:18", "nodejs:20", "nodejs:22"),
        *("python:default", "python:3.10", "python:3.11", "python:3.12"),
    )
)
_CODE = 48 << 20
_PARAMETERS = 1 << 20
_MEMORY, _TIMEOUT = (128, 512), (100, 300_000)
_LIMITS = {"timeout": 60_000, "memory": 256, "logs": 10, "concurrency": 1}
_MEMBERS = {
    "packages": {"annotations", "parameters", "publish", "version", "binding", "namespace", "name"},
    "actions": {
        *("annotations", "parameters", "publish", "version", "exec", "limits", "namespace", "name"),
        "delAnnotations",
    },
    "triggers": {"annotations", "parameters", "publish", "version", "limits", "namespace", "name"},
    "rules": {"annotations", "publish", "version", "trigger", "action", "status", "name"},
}
_NOTHING = "The requested resource does not exist."


def table(space: Namespace, kind: str) -> dict[str, Row]:
    found: dict[str, Row] = getattr(space, kind)
    return found


def put(space: Namespace, kind: str, name: str, query: Mapping[str, str], body: Row) -> Row:
    """A thing that is there keeps the annotations that are not told again."""
    _checked(kind, name, body)
    rows = table(space, kind)
    before = rows.get(name)
    if before is not None and query.get("overwrite") != "true":
        raise RefusedError(409, "resource already exists")
    match kind:
        case "actions":
            _check_action(space, name, body)
        case "rules":
            _check_rule(space, body)
    annotations = {**pairs_of(before["annotations"] if before else []), **_pairs(body)}
    if kind == "actions" and "exec" in body:
        annotations["exec"] = body["exec"]["kind"]
    rows[name] = row = {
        **(before or {}),
        **body,
        "annotations": [{"key": key, "value": value} for key, value in annotations.items()],
        "version": _next(before),
    }
    if kind == "actions":
        row["limits"] = {**_LIMITS, **row.get("limits", {})}
    if kind == "rules":
        row["status"] = "active"
    return shown(space, kind, name)


def _pairs(body: Row) -> Row:
    return pairs_of(body.get("annotations", []))


def _next(before: Row | None) -> str:
    return f"0.0.{int(before['version'].rpartition('.')[2]) + 1}" if before else "0.0.1"


def _checked(kind: str, name: str, body: Row) -> None:
    parts = name.split("/")
    if len(parts) > (2 if kind == "actions" else 1) or not all(map(_NAME.fullmatch, parts)):
        raise RefusedError(400, f"The request content was malformed: name {name}")
    strange = body.keys() - _MEMBERS[kind]
    if strange:
        raise RefusedError(400, f"The request content was malformed: {sorted(strange)}")
    for rows in (body.get("annotations", []), body.get("parameters", [])):
        for one in rows:
            if not isinstance(one, dict) or one.keys() - {"key", "value", "init"}:
                raise RefusedError(400, "The request content was malformed: a pair")
    if len(str(body.get("parameters", ""))) > _PARAMETERS:
        raise RefusedError(413, "Parameters are too large.")


def _check_action(space: Namespace, name: str, body: Row) -> None:
    package = name.split("/")[0] if "/" in name else ""
    if package and package not in space.packages:
        raise RefusedError(404, _NOTHING)
    run = body.get("exec")
    if not isinstance(run, dict) or "kind" not in run:
        raise RefusedError(400, "The request content was malformed: exec undefined")
    if run["kind"] == "sequence":
        _check_components(space, run)
        return
    if run["kind"] not in KINDS:
        words = f"kind '{run['kind']}' not in Set({', '.join(sorted(KINDS))})"
        raise RefusedError(400, f"The request content was malformed:\n{words}")
    if len(run.get("code", "")) > _CODE:
        raise RefusedError(413, "The action code is too large.")
    _check_zip(run)
    for key, (low, high) in (("memory", _MEMORY), ("timeout", _TIMEOUT)):
        value = body.get("limits", {}).get(key, low)
        if not isinstance(value, int) or not low <= value <= high:
            words = f"requirement failed: {key} {value} is not within {low} to {high}"
            raise RefusedError(400, f"The request content was malformed:\n{words}")


def _check_zip(run: Row) -> None:
    content = code_of(run)
    if content is None:
        if run.get("binary"):
            raise RefusedError(400, "The request content was malformed: no base64")
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        raise RefusedError(400, "The request content was malformed: no archive") from None
    own = "__main__.py" if run["kind"].startswith("python") else "package.json"
    if own not in names and "index.js" not in names:
        raise RefusedError(400, f"The archive has no {own}")


def code_of(run: Mapping[str, Any]) -> bytes | None:
    """Code that is base64 is an archive, all else a script."""
    try:
        return base64.b64decode(run["code"], validate=True)
    except (binascii.Error, ValueError):
        return None


def _check_components(space: Namespace, run: Row) -> None:
    components = run.get("components", [])
    if not components:
        raise RefusedError(400, "No component specified for the sequence.")
    for one in components:
        parts = one.removeprefix("/").split("/")
        if parts[0] not in ("_", space.name) or "/".join(parts[1:]) not in space.actions:
            raise RefusedError(400, "Sequence component does not exist.")


def _check_rule(space: Namespace, body: Row) -> None:
    begin = f"/{space.name}/"
    trigger, action = body.get("trigger", ""), body.get("action", "")
    if not (trigger.startswith(begin) and action.startswith(begin)):
        raise RefusedError(400, "The request content was malformed: no qualified name")
    known = trigger.removeprefix(begin) in space.triggers
    if not known or action.removeprefix(begin) not in space.actions:
        raise RefusedError(404, _NOTHING)


def get(space: Namespace, kind: str, name: str) -> Row:
    if name not in table(space, kind):
        raise RefusedError(404, _NOTHING)
    return shown(space, kind, name)


def shown(space: Namespace, kind: str, name: str) -> Row:
    row = table(space, kind)[name]
    package, _, own = name.rpartition("/")
    found = {
        "namespace": f"{space.name}/{package}" if package else space.name,
        "name": own,
        "version": row["version"],
        "publish": False,
        "annotations": row["annotations"],
    }
    for member in ("parameters", "exec", "limits", "trigger", "action", "status"):
        if member in row:
            found[member] = row[member]
    if kind == "packages":
        begin = f"{name}/"
        found["actions"] = [
            {"name": one.removeprefix(begin), "annotations": row["annotations"]}
            for one, row in space.actions.items()
            if one.startswith(begin)
        ]
        found["binding"] = {}
    return found


def listed(space: Namespace, kind: str, query: Mapping[str, str]) -> list[Row]:
    limit, skip = int(query.get("limit", 30)), int(query.get("skip", 0))
    if limit > 200:
        raise RefusedError(400, "The value of 'limit' is above 200")
    rows = [shown(space, kind, name) for name in table(space, kind)]
    return [{key: one[key] for key in one if key != "exec"} for one in rows][skip : skip + limit]


def delete(space: Namespace, kind: str, name: str) -> Row:
    found = get(space, kind, name)
    if kind == "packages" and found["actions"]:
        raise RefusedError(409, "Package not empty (contains entities)")
    del table(space, kind)[name]
    return found


def parameters(row: Row, *, init: bool) -> dict[str, Any]:
    given = row.get("parameters", [])
    return {one["key"]: one["value"] for one in given if bool(one.get("init")) is init}
