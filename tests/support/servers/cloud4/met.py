"""Addresses of functions: a request as an event, and what a function gave back as an answer."""

import base64
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests.support.servers.cloud4.account import Account, HeldFunction, Row, new_id
from tests.support.servers.cloud4.running import Ended, Instances

_JSON = [("Content-Type", "application/json")]


@dataclass(frozen=True)
class UserRequest:
    """`path` is that behind the address."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True)
class UserAnswer:
    status: int
    headers: list[tuple[str, str]]
    content: bytes


def found(account: Account, ident: str) -> tuple[HeldFunction, Row] | None:
    """The function that this trigger is of."""
    with account.guard:
        for held in account.functions.values():
            for row in held.triggers.values():
                if row["triggerId"] == ident:
                    return held, row
    return None


def answered(
    instances: Instances, account: Account | None, ident: str, asked: UserRequest
) -> UserAnswer:
    hit = found(account, ident) if account else None
    if hit is None or account is None:
        return _refused(404, "DomainNameNotFound", "there is no such address")
    held, trigger = hit
    config = json.loads(trigger["triggerConfig"])
    if config.get("authType", "function") != "anonymous" or config.get("disableURLInternet"):
        return _refused(403, "AccessDenied", "the address is not open")
    if asked.method not in config.get("methods", ()):
        return _refused(405, "MethodNotAllowed", asked.method)
    event = json.dumps(_event(account, ident, asked)).encode()
    return _answer(instances.call(account, held, trigger["qualifier"], event))


def _event(account: Account, ident: str, asked: UserRequest) -> Row:
    """Of a name that comes twice the values are joined."""
    try:
        body, is_base64 = asked.body.decode(), False
    except UnicodeDecodeError:
        body, is_base64 = base64.b64encode(asked.body).decode(), True
    agent = next((text for name, text in asked.headers if name.lower() == "user-agent"), "")
    host = f"{ident}.{account.region}.fcapp.run"
    return {
        "version": "v1",
        "rawPath": asked.path,
        "body": body,
        "isBase64Encoded": is_base64,
        "headers": _joined(
            [("-".join(map(str.capitalize, n.split("-"))), t) for n, t in asked.headers]
        ),
        "queryParameters": _joined(parse_qsl(asked.query, keep_blank_values=True)),
        "requestContext": {
            "accountId": account.ident,
            "domainName": host,
            "domainPrefix": ident,
            "http": {
                "method": asked.method,
                "path": unquote(asked.path),
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": agent,
            },
            "requestId": new_id(),
            "time": "2026-01-01T00:00:00Z",
            "timeEpoch": "1767225600000",
        },
    }


def _title(name: str) -> str:
    return "-".join(map(str.capitalize, name.split("-")))


def _joined(pairs: list[tuple[str, str]]) -> dict[str, str]:
    rows: dict[str, list[str]] = {}
    for name, text in pairs:
        rows.setdefault(name, []).append(text)
    return {name: ",".join(texts) for name, texts in rows.items()}


def _answer(ended: Ended) -> UserAnswer:
    if ended.thrown:
        content = json.dumps(ended.thrown).encode()
        return UserAnswer(502, [*_JSON, ("X-Fc-Error-Type", ended.thrown["errorType"])], content)
    said = _read(ended.content)
    if not isinstance(said, dict) or "statusCode" not in said:
        return UserAnswer(200, _JSON, ended.content)
    headers = said.get("headers", {})
    if not all(isinstance(text, str) for text in headers.values()):
        return _refused(502, "FunctionResponseInvalid", "a header is no text")
    text = said.get("body", "")
    content = base64.b64decode(text) if said.get("isBase64Encoded") else text.encode()
    return UserAnswer(int(said["statusCode"]), list(headers.items()), content)


def _read(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _refused(status: int, code: str, words: str) -> UserAnswer:
    return UserAnswer(status, _JSON, json.dumps({"Code": code, "Message": words}).encode())
