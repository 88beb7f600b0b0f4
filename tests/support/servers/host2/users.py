"""How users and clocks meet what is published: routes, events, answers."""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from tests.support.servers.host2.running import Children
from tests.support.servers.host2.sites import Site, SiteDeploy

_OWN = "/.netlify/functions/"
_RULES = ("/_redirects", "/_headers")
_TEXTS = ("text/", "application/json", "application/xml", "application/x-www-form-urlencoded")


@dataclass(frozen=True)
class UserRequest:
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


_NOTHING = UserAnswer(404, [("content-type", "text/html")], b"Not Found")


def answered(children: Children, site: Site, asked: UserRequest) -> UserAnswer:
    deploy = site.shown_deploy
    name = _function(deploy, asked) if deploy else ""
    if deploy is None:
        return _NOTHING
    file = _static(site, deploy, asked.path)
    if file is not None and (not name or _prefers_static(deploy, name)):
        return file
    if not name:
        return _redirected(site, deploy, asked)
    if any(one["name"] == name for one in deploy.body.get("function_schedules", [])):
        return UserAnswer(403, [], b"a scheduled function has no address")
    return _as_http(_called(children, site, (deploy, name), _event(site, asked)))


def _redirected(site: Site, deploy: SiteDeploy, asked: UserRequest) -> UserAnswer:
    for one in deploy.redirects:
        target = one.filled(asked.path, asked.query)
        if target is not None and one.status == 200 and target.startswith("/"):
            return _static(site, deploy, target) or _NOTHING
        if target is not None and one.status == 200:
            return UserAnswer(200, [], f"proxied to {target}".encode())
        if target is not None:
            return UserAnswer(one.status, [("location", target)], b"Redirecting")
    return _NOTHING


def _prefers_static(deploy: SiteDeploy, name: str) -> bool:
    routes = deploy.body.get("functions_config", {}).get(name, {}).get("routes", [])
    return any(one.get("prefer_static") for one in routes)


def _static(site: Site, deploy: SiteDeploy, path: str) -> UserAnswer | None:
    files: Mapping[str, str] = deploy.body.get("files", {})
    for name in (path, f"{path.rstrip('/')}/index.html"):
        if name in files and name not in _RULES:
            rules = site.blobs[files["/_headers"]].decode() if "/_headers" in files else ""
            return UserAnswer(200, list(_headers_of(rules, name)), site.blobs[files[name]])
    return None


def _headers_of(rules: str, path: str) -> Iterator[tuple[str, str]]:
    """The lines of `_headers`: a path, and then its headers with spaces before them."""
    is_for = False
    for line in rules.splitlines():
        if line.startswith("/"):
            pattern = re.escape(line).replace(r"\*", ".*")
            is_for = re.fullmatch(pattern, path) is not None
        elif is_for and line.strip():
            name, _, value = line.strip().partition(":")
            yield name.lower(), value.strip()


def timed(children: Children, site: Site, name: str) -> dict[str, Any]:
    """The time of a schedule comes now."""
    deploy = site.shown_deploy
    assert deploy is not None
    assert any(one["name"] == name for one in deploy.body["function_schedules"])
    asked = UserRequest("POST", f"{_OWN}{name}", "", [("X-NF-Event", "schedule")], b"{}")
    return _called(children, site, (deploy, name), _event(site, asked))


def _called(
    children: Children, site: Site, whose: tuple[SiteDeploy, str], event: dict[str, Any]
) -> dict[str, Any]:
    deploy, name = whose
    env = {one["key"]: one["value"] for one in deploy.body.get("environment", [])}
    content = site.blobs[deploy.functions[name]]
    answer, lines = children.call((deploy.id, name), content, env, event)
    site.lines.setdefault(name, []).extend(lines)
    return answer


def _function(deploy: SiteDeploy, asked: UserRequest) -> str:
    """A function with a route is met there alone. Two that fit are a fault of whoever deployed."""
    config: Mapping[str, Any] = deploy.body.get("functions_config", {})
    fitting = [name for name in deploy.functions if _takes(config.get(name, {}), asked)]
    assert len(fitting) < 2, f"{asked.method} {asked.path} fits {fitting}"
    if fitting:
        return fitting[0]
    name = asked.path.removeprefix(_OWN).split("/")[0] if asked.path.startswith(_OWN) else ""
    has_route = bool(config.get(name, {}).get("routes"))
    return name if name in deploy.functions and not has_route else ""


def _takes(config: Mapping[str, Any], asked: UserRequest) -> bool:
    if any(_fits(one, asked.path) for one in config.get("excluded_routes", [])):
        return False
    return any(
        _fits(one, asked.path) and (not one.get("methods") or asked.method in one["methods"])
        for one in config.get("routes", [])
    )


def _fits(route: Mapping[str, Any], path: str) -> bool:
    if "literal" in route:
        return bool(route["literal"] == path)
    return re.search(route["expression"], path) is not None


def _event(site: Site, asked: UserRequest) -> dict[str, Any]:
    many: dict[str, list[str]] = {}
    for name, value in asked.headers:
        many.setdefault(name, []).append(value)
    kind = next((value for name, value in asked.headers if name.lower() == "content-type"), "")
    is_text = not kind or kind.lower().startswith(_TEXTS)
    text, is_text = _decoded(asked.body, is_text=is_text)
    query = f"?{asked.query}" if asked.query else ""
    return {
        "path": asked.path,
        "httpMethod": asked.method,
        "headers": {name: ", ".join(values) for name, values in many.items()},
        "multiValueHeaders": many,
        "queryStringParameters": dict(parse_qsl(asked.query, keep_blank_values=True)),
        "multiValueQueryStringParameters": {},
        "body": text if asked.body else None,
        "isBase64Encoded": not is_text,
        "rawUrl": f"https://{site.id}.netlify.app{asked.path}{query}",
        "rawQuery": asked.query,
    }


def _decoded(body: bytes, *, is_text: bool) -> tuple[str, bool]:
    try:
        if is_text:
            return body.decode(), True
    except UnicodeDecodeError:
        pass
    return base64.b64encode(body).decode(), False


def _as_http(answer: dict[str, Any]) -> UserAnswer:
    said = answer.get("ok")
    if not isinstance(said, dict) or "statusCode" not in said:
        return UserAnswer(502, [], b"the function failed")
    headers = [(name, str(one)) for name, one in (said.get("headers") or {}).items()]
    for name, values in (said.get("multiValueHeaders") or {}).items():
        headers += [(name, str(one)) for one in values]
    text = said.get("body") or ""
    content = base64.b64decode(text) if said.get("isBase64Encoded") else text.encode()
    return UserAnswer(said["statusCode"], headers, content)
