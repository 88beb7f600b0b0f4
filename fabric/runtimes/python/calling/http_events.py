"""Conversion between HTTP events and requests, and the one shape of responses."""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, quote, unquote, urlencode

from fabric.runtimes.python.calling.handler_settings import HandlerSettings
from fabric.runtimes.python.calling.json_values import Document, is_object, part, texts

_JSON = "application/json"
_OF_THE_WIRE = frozenset({"connection", "date", "keep-alive", "transfer-encoding", "set-cookie"})


@dataclass(frozen=True)
class SentRequest:
    """A request. `path` is unchanged and `query` has no question mark; header names are
    lowercase."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    parameters: dict[str, str]
    ip: str = "127.0.0.1"

    @property
    def host(self) -> str:
        return self.headers["host"]

    @property
    def url(self) -> str:
        return f"https://{self.host}{self.path}" + (f"?{self.query}" if self.query else "")

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_http(event: object) -> bool:
    if not is_object(event):
        return False
    said = part(part(event, "requestContext"), "http").get("method") or event.get("httpMethod")
    return isinstance(said, str) or isinstance(event.get("rawPath"), str)


def request_of(event: object, said: HandlerSettings) -> SentRequest:
    """Convert any event to a request; a non-HTTP event is sent as JSON."""
    request = (
        _convert_http_event(event)
        if is_object(event) and is_http(event)
        else _build_post(event, said)
    )
    parameters = {**_match_template(said.path, request.path), **request.parameters}
    request = replace(request, parameters=parameters)
    request.headers.setdefault("host", said.host)
    if request.body:
        request.headers["content-length"] = str(len(request.body))
    return request


def _convert_http_event(event: Document) -> SentRequest:
    http = part(part(event, "requestContext"), "http")
    path = event.get("rawPath") or http.get("path") or event.get("path") or "/"
    return SentRequest(
        method=str(http.get("method") or event.get("httpMethod") or "GET").upper(),
        path=_encode_path(str(path)),
        query=_query_of(event),
        headers=_read_headers(event),
        body=_read_body(event),
        parameters={name: str(value) for name, value in part(event, "pathParameters").items()},
        ip=str(http.get("sourceIp") or "127.0.0.1"),
    )


def _build_post(event: object, said: HandlerSettings) -> SentRequest:
    own = event if is_object(event) else {}
    given = part(own, "pathParameters")
    values = {**own, **given}

    def fill_parameter(found: re.Match[str]) -> str:
        if found[1] not in values:
            return found[0]
        return quote(str(values[found[1]]), safe="/" if found[2] else "")

    path = re.sub(r"\{([^{}+]+)(\+?)\}", fill_parameter, said.path)
    headers = {"content-type": _JSON}
    parameters = {name: str(one) for name, one in given.items()}
    body = json.dumps(event, ensure_ascii=False).encode()
    return SentRequest(
        method="POST",
        path=_encode_path(path),
        query="",
        headers=headers,
        body=body,
        parameters=parameters,
    )


def _match_template(template: str, path: str) -> dict[str, str]:
    """Return the values of a template's parameters in a path: /users/{id}, /files/{name+}."""
    names: list[str] = []
    pattern = ""
    for part_of in re.split(r"(\{[^{}]+\})", template):
        name = re.fullmatch(r"\{([^{}+]+)(\+?)\}", part_of)
        if name is None:
            pattern += re.escape(part_of)
        else:
            names.append(name[1])
            pattern += "(.+)" if name[2] else "([^/]+)"
    found = re.fullmatch(f"{pattern}/?", path)
    pairs = zip(names, map(unquote, found.groups()), strict=True) if found else ()
    return {name: text for name, text in pairs if not text.startswith(f"{{{name}")}


def _encode_path(path: str) -> str:
    whole = path if path.startswith("/") else f"/{path}"
    return quote(whole, safe="/%:@!$&'()*+,;=~-._")


def _query_of(event: Document) -> str:
    if raw := event.get("rawQueryString"):
        return str(raw)
    many = part(event, "multiValueQueryStringParameters") or part(event, "queryStringParameters")
    return urlencode({name: one for name, one in many.items() if one is not None}, doseq=True)


def _read_headers(event: Document) -> dict[str, str]:
    given = part(event, "headers") or part(event, "multiValueHeaders")
    headers = {name.lower(): ", ".join(_list_values(value)) for name, value in given.items()}
    if cookies := texts(event.get("cookies")):
        headers.setdefault("cookie", "; ".join(cookies))
    # The body is given whole, whatever the length of another one was.
    for name in ("content-length", "transfer-encoding"):
        headers.pop(name, None)
    return headers


def _list_values(value: object) -> Sequence[str]:
    return texts(value) if isinstance(value, list) else (str(value),)


def _read_body(event: Document) -> bytes:
    body = event.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        return json.dumps(body, ensure_ascii=False).encode()
    return base64.b64decode(body) if event.get("isBase64Encoded") else body.encode()


def query_of(text: str) -> dict[str, str | list[str]]:
    """Map each name to its value, or to a list of values if it is repeated."""
    found: dict[str, str | list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        known = found.get(name)
        rest = [known] if isinstance(known, str) else known
        found[name] = value if rest is None else [*rest, value]
    return found


def answer_of(status: int, headers: Iterable[tuple[str, str]], body: bytes) -> Document:
    """Build a response. A text body stays text; other bodies are base64."""
    pairs = [(name.lower(), value) for name, value in headers]
    kept = {name: value for name, value in pairs if name not in _OF_THE_WIRE}
    cookies = [value for name, value in pairs if name == "set-cookie"]
    text = None if "content-encoding" in kept else _decode_text(body)
    return {
        "statusCode": status,
        "headers": kept,
        **({"cookies": cookies} if cookies else {}),
        "body": base64.b64encode(body).decode() if text is None else text,
        "isBase64Encoded": text is None,
    }


def _decode_text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
