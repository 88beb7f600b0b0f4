"""Functions of an account: what is told of them, and what cannot be."""

import base64
import binascii
import io
import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

from tests.support.servers.cloud4.account import (
    Account,
    HeldFunction,
    RefusedError,
    Row,
    invalid,
    new_id,
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_RUNTIMES = ("nodejs18", "nodejs20", "python3.9", "python3.10", "python3.12")
_MOST_CODE, _MOST_ENVIRONMENT, _MOST_WORDS = 100 << 20, 4096, 256
_TIME = "2026-01-01T00:00:00Z"
_USUAL: Row = {"memorySize": 512, "cpu": 0.35, "diskSize": 512, "timeout": 3, "role": ""}


def create(account: Account, names: Mapping[str, str], query: Row, body: Row) -> Row:
    del names, query
    name = body["functionName"]
    if not _NAME.fullmatch(name):
        raise invalid(f"functionName '{name}' is none")
    if name in account.functions:
        raise RefusedError(409, "FunctionAlreadyExists", f"function '{name}' already exists")
    code = _code(body.pop("code", None))
    row: Row = {
        **_USUAL,
        **_checked(body),
        "functionArn": account.arn(name),
        "functionId": new_id(),
        "createdTime": _TIME,
        "state": "Pending" if account.is_slow else "Active",
        "tags": body.get("tags", []),
    }
    _require_sizes(row)
    account.functions[name] = HeldFunction(row, code)
    return dict(row)


def update(account: Account, names: Mapping[str, str], query: Row, body: Row) -> Row:
    del query
    held = account.function(names["functionName"])
    code = _code(body.pop("code")) if "code" in body else held.code
    row = {**held.row, **_checked(body)}
    _require_sizes(row)
    row["lastUpdateStatus"] = "InProgress" if account.is_slow else "Successful"
    held.row, held.code = row, code
    return dict(row)


def get(account: Account, names: Mapping[str, str], query: Row, body: None) -> Row:
    """Whoever looks again finds it ready."""
    del body
    held = account.function(names["functionName"])
    row = dict(held.config_at(held.version_at(query.get("qualifier", ""))))
    if account.is_slow:
        held.row |= {"state": "Active", "lastUpdateStatus": "Successful"}
    return row


def listed(account: Account, names: Mapping[str, str], query: Row, body: None) -> Row:
    del names, body
    found = sorted(one for one in account.functions if one.startswith(query.get("prefix", "")))
    names_of_page, token = paged(account, found, query)
    rows = [dict(account.functions[one].row) for one in names_of_page]
    return {"functions": rows, **({"nextToken": token} if token else {})}


def delete(account: Account, names: Mapping[str, str], query: Row, body: None) -> None:
    del query, body
    name = names["functionName"]
    held = account.function(name)
    left = [*held.triggers, *held.aliases, *held.versions]
    left += ["reserved concurrency"] if held.reserved else []
    if left:
        raise RefusedError(400, "FunctionNotEmpty", f"function '{name}' still has {left}")
    del account.functions[name]


def put_concurrency(account: Account, names: Mapping[str, str], query: Row, body: Row) -> Row:
    del query
    held, wanted = account.function(names["functionName"]), body["reservedConcurrency"]
    if not isinstance(wanted, int) or wanted < 1:
        raise invalid(f"reservedConcurrency {wanted} is none")
    held.reserved = wanted
    return _concurrency(account, names)


def _concurrency(account: Account, names: Mapping[str, str]) -> Row:
    name = names["functionName"]
    reserved = account.function(name).reserved
    if reserved is None:
        raise RefusedError(404, "ConcurrencyConfigNotFound", f"'{name}' has none")
    return {"functionArn": account.arn(name), "reservedConcurrency": reserved}


def get_concurrency(account: Account, names: Mapping[str, str], query: Row, body: None) -> Row:
    del query, body
    return _concurrency(account, names)


def delete_concurrency(account: Account, names: Mapping[str, str], query: Row, body: None) -> None:
    del query, body
    _concurrency(account, names)
    account.function(names["functionName"]).reserved = None


def tag(account: Account, names: Mapping[str, str], query: Row, body: Row) -> Row:
    del names, query
    for arn in body["ResourceId"]:
        held = _by_arn(account, arn, body["ResourceType"])
        known = {one["Key"]: one for one in held.row["tags"]}
        known |= {one["Key"]: one for one in body["Tag"]}
        held.row["tags"] = list(known.values())
    return {"RequestId": new_id()}


def untag(account: Account, names: Mapping[str, str], query: Row, body: None) -> Row:
    del names, body
    for arn in json.loads(query["ResourceId"]):
        held = _by_arn(account, arn, query["ResourceType"])
        going = json.loads(query["TagKey"])
        held.row["tags"] = [one for one in held.row["tags"] if one["Key"] not in going]
    return {"RequestId": new_id()}


def _by_arn(account: Account, arn: str, kind: str) -> HeldFunction:
    begin = account.arn("")
    if not arn.startswith(begin) or kind != "function":
        raise invalid(f"{kind} {arn} is no resource of this account")
    return account.function(arn.removeprefix(begin))


def paged(account: Account, names: list[str], query: Row) -> tuple[list[str], str]:
    """A few at a time, however many are asked for."""
    begin = query.get("nextToken", "")
    if begin and begin not in names:
        raise invalid(f"nextToken '{begin}' is none")
    at = names.index(begin) if begin else 0
    size = min(int(query.get("limit", 20)), account.page)
    return names[at : at + size], next(iter(names[at + size :]), "")


def _code(told: Any) -> bytes:
    encoded = (told or {}).get("zipFile", "")
    if len(encoded) > _MOST_CODE:
        raise invalid("the code package is too large")
    try:
        content = base64.b64decode(encoded, validate=True)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.testzip() is None
    except (binascii.Error, zipfile.BadZipFile):
        raise invalid("the code package is no ZIP in Base64") from None
    return content


def _checked(body: Row) -> Row:
    if body.get("runtime", "nodejs20") not in _RUNTIMES:
        raise invalid(f"runtime '{body['runtime']}' is not supported")
    if len(body.get("description", "")) > _MOST_WORDS:
        raise invalid("description is longer than 256")
    pairs = body.get("environmentVariables", {})
    if sum(len(f"{name}{value}".encode()) for name, value in pairs.items()) > _MOST_ENVIRONMENT:
        raise invalid("environmentVariables exceed 4 KB")
    if any(name.startswith("FC_") for name in pairs):
        raise invalid("environmentVariables have a reserved name")
    return body


def _require_sizes(row: Row) -> None:
    memory, cpu = row["memorySize"], row["cpu"]
    if memory % 64 or not 128 <= memory <= 32_768:
        raise invalid(f"memorySize {memory} is not supported")
    if abs(cpu * 20 - round(cpu * 20)) > 1e-6 or not memory / 4096 <= cpu <= memory / 1024:
        raise invalid(f"cpu {cpu} does not go with {memory} MB")
    if row["diskSize"] not in (512, 10_240) or not 1 <= row["timeout"] <= 86_400:
        raise invalid("diskSize or timeout is not supported")
