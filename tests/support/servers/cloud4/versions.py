"""Versions, aliases and triggers of a function: each has to be there for what leads to it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.support.servers.cloud4.account import Account, RefusedError, Row, gone, invalid, new_id
from tests.support.servers.cloud4.described import description
from tests.support.servers.cloud4.functions import paged

_ALIAS, _TRIGGER = re.compile(r"[A-Za-z_][\w-]{0,127}"), re.compile(r"[A-Za-z_][\w-]{0,127}")
_EVERY = re.compile(r"@every [1-9]\d*m")
_ZONE = re.compile(r"CRON_TZ=[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)* ")
_FIELDS = 6
_TIME = "2026-01-01T00:00:00Z"
_MOST_TRIGGERS, _MOST_WORDS, _MOST_PAYLOAD = 50, 256, 128 << 10
Names = Mapping[str, str]


def publish(account: Account, names: Names, query: Row, body: Row) -> Row:
    """What the function is now, for good."""
    del query
    held = account.function(names["functionName"])
    if "Pending" in (held.row["state"],) or held.row.get("lastUpdateStatus") == "InProgress":
        raise RefusedError(400, "FunctionNotReady", "the function is still being made ready")
    if len(body.get("description", "")) > _MOST_WORDS:
        raise invalid("description is longer than 256")
    held.counted += 1
    version = str(held.counted)
    held.versions[version] = {
        "versionId": version,
        "description": body.get("description", ""),
        "createdTime": _TIME,
        "config": dict(held.row),
    }
    held.codes[version] = held.code
    return _shown(held.versions[version])


def _shown(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "config"}


def versions(account: Account, names: Names, query: Row, body: None) -> Row:
    """The newest first, if nobody asks otherwise."""
    del body
    held = account.function(names["functionName"])
    found = sorted(held.versions, key=int, reverse=query.get("direction") != "FORWARD")
    rows, token = paged(account, found, query)
    told = [_shown(held.versions[one]) for one in rows]
    return {"versions": told, "direction": "BACKWARD", **({"nextToken": token} if token else {})}


def delete_version(account: Account, names: Names, query: Row, body: None) -> None:
    del query, body
    held, version = account.function(names["functionName"]), names["versionId"]
    if version not in held.versions:
        raise gone("VersionNotFound", f"version '{version}' does not exist")
    for name, alias in held.aliases.items():
        if version in (alias["versionId"], *alias.get("additionalVersionWeight", {})):
            raise invalid(f"version '{version}' is used by alias '{name}'")
    del held.versions[version], held.codes[version]


def create_alias(account: Account, names: Names, query: Row, body: Row) -> Row:
    del query
    held, name = account.function(names["functionName"]), body["aliasName"]
    if name in held.aliases:
        raise RefusedError(409, "AliasAlreadyExists", f"alias '{name}' already exists")
    if not _ALIAS.fullmatch(name) or name == "LATEST":
        raise invalid(f"aliasName '{name}' is none")
    _require_version(held.versions, body)
    held.aliases[name] = {"createdTime": _TIME, **body}
    return dict(held.aliases[name])


def _require_version(versions: Mapping[str, Row], body: Row) -> None:
    wanted = [*([body["versionId"]] if "versionId" in body else [])]
    for one in (*wanted, *body.get("additionalVersionWeight", {})):
        if one not in versions:
            raise gone("VersionNotFound", f"version '{one}' does not exist")


def _alias(account: Account, names: Names) -> Row:
    held = account.function(names["functionName"])
    if names["aliasName"] not in held.aliases:
        raise gone("AliasNotFound", f"alias '{names['aliasName']}' does not exist")
    return held.aliases[names["aliasName"]]


def update_alias(account: Account, names: Names, query: Row, body: Row) -> Row:
    del query
    alias = _alias(account, names)
    _require_version(account.function(names["functionName"]).versions, body)
    alias |= body
    return dict(alias)


def get_alias(account: Account, names: Names, query: Row, body: None) -> Row:
    del query, body
    return dict(_alias(account, names))


def aliases(account: Account, names: Names, query: Row, body: None) -> Row:
    del body
    held = account.function(names["functionName"])
    rows, token = paged(account, sorted(held.aliases), query)
    told = [dict(held.aliases[one]) for one in rows]
    return {"aliases": told, **({"nextToken": token} if token else {})}


def delete_alias(account: Account, names: Names, query: Row, body: None) -> None:
    del query, body
    _alias(account, names)
    held, name = account.function(names["functionName"]), names["aliasName"]
    using = [one for one, row in held.triggers.items() if row["qualifier"] == name]
    if using:
        raise invalid(f"alias '{name}' is used by {using}")
    del held.aliases[name]


def create_trigger(account: Account, names: Names, query: Row, body: Row) -> Row:
    del query
    held, name = account.function(names["functionName"]), body["triggerName"]
    if name in held.triggers:
        raise RefusedError(409, "TriggerAlreadyExists", f"trigger '{name}' already exists")
    if not _TRIGGER.fullmatch(name) or len(held.triggers) >= _MOST_TRIGGERS:
        raise invalid(f"trigger '{name}' is none, or one too many")
    kind, qualifier = body["triggerType"], body.get("qualifier", "LATEST")
    same = [one for one in held.triggers.values() if one["qualifier"] == qualifier]
    if kind == "http" and any(one["triggerType"] == kind for one in same):
        raise RefusedError(409, "TriggerAlreadyExists", f"'{qualifier}' has an http trigger")
    held.version_at(qualifier)
    _require_config(kind, body["triggerConfig"])
    ident = new_id()
    row: Row = {"triggerId": ident, "createdTime": _TIME, "status": "OK", **body}
    row["qualifier"] = qualifier
    if kind == "http":
        url = f"{account.endpoint}/met/{ident}"
        row["httpTrigger"] = {"urlInternet": url, "urlIntranet": url}
    held.triggers[name] = row
    return dict(row)


def _require_config(kind: str, text: str) -> None:
    config = json.loads(text)
    wrong = list(description().wrong_trigger(kind, config))
    if wrong:
        raise invalid(f"triggerConfig: {wrong}")
    if kind == "timer":
        _require_schedule(str(config.get("cronExpression", "")))
        if len(config.get("payload", "")) > _MOST_PAYLOAD:
            raise invalid("triggerConfig: the payload is too large")


def _require_schedule(text: str) -> None:
    fields = _ZONE.sub("", text, count=1).split()
    if not _EVERY.fullmatch(text) and (len(fields) != _FIELDS or not fields[0].isdigit()):
        raise invalid(f"triggerConfig: cronExpression '{text}' is none")


def _trigger(account: Account, names: Names) -> Row:
    held = account.function(names["functionName"])
    if names["triggerName"] not in held.triggers:
        raise gone("TriggerNotFound", f"trigger '{names['triggerName']}' does not exist")
    return held.triggers[names["triggerName"]]


def get_trigger(account: Account, names: Names, query: Row, body: None) -> Row:
    del query, body
    return dict(_trigger(account, names))


def update_trigger(account: Account, names: Names, query: Row, body: Row) -> Row:
    del query
    trigger = _trigger(account, names)
    account.function(names["functionName"]).version_at(body.get("qualifier", ""))
    if "triggerConfig" in body:
        _require_config(trigger["triggerType"], body["triggerConfig"])
    trigger |= body
    return dict(trigger)


def triggers(account: Account, names: Names, query: Row, body: None) -> Row:
    del body
    held = account.function(names["functionName"])
    rows, token = paged(account, sorted(held.triggers), query)
    told: list[Any] = [dict(held.triggers[one]) for one in rows]
    return {"triggers": told, **({"nextToken": token} if token else {})}


def delete_trigger(account: Account, names: Names, query: Row, body: None) -> None:
    del query, body
    _trigger(account, names)
    del account.function(names["functionName"]).triggers[names["triggerName"]]
