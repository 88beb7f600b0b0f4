"""How users and clocks meet what a domain leads to: by routes in their order, then by names."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers.host1.projects import OUTPUT, HostDeployment, HostProject
from tests.support.servers.host1.running import FunctionFiles, Instance, Instances, Passed

_NOTHING = Passed(b"The page could not be found", [("content-type", "text/plain")], 404)
_CLOCK = [("Host", "clock.test"), ("User-Agent", "vercel-cron/1.0")]


def answered(
    instances: Instances, project: HostProject, method: str, target: str, given: Passed
) -> Passed:
    deployment = project.shown
    if deployment is None:
        return Passed(b"DEPLOYMENT_NOT_FOUND", [("content-type", "text/plain")], 404)
    path = target.partition("?")[0]
    led = _led(project, deployment, method, path)
    if led.file is not None:
        return Passed(led.file, led.headers)
    if led.route and "status" in led.route[0]:
        return Passed(b"Redirecting...", _filled_headers(*led.route), led.route[0]["status"])
    whole = _filled(led.route[0]["dest"], led.route[1]) if led.route else path
    if whole.startswith("https://"):
        return Passed(f"proxied to {whole}".encode(), led.headers)
    name = whole.strip("/")
    if name not in deployment.functions:
        file = _static(project, deployment, whole)
        return _NOTHING if file is None else Passed(file, led.headers)
    answer = asked_of(instances, project, deployment, name).ask(method, target, given)
    return Passed(answer.content, [*answer.headers, *led.headers], answer.status)


@dataclass
class Led:
    """Where the routes lead: to a file, to the first route that fits, or nowhere."""

    headers: list[tuple[str, str]] = field(default_factory=list)
    file: bytes | None = None
    route: tuple[dict[str, Any], re.Match[str]] | None = None


def _led(project: HostProject, deployment: HostDeployment, method: str, path: str) -> Led:
    led = Led()
    for one in project.config(deployment).get("routes", []):
        if "handle" in one:
            led.file = _static(project, deployment, path)
            if led.file is not None:
                return led
            continue
        found = _taken(one, method, path)
        if found is None:
            continue
        if not one.get("continue"):
            led.route = (one, found)
            return led
        led.headers += _filled_headers(one, found)
    return led


def _static(project: HostProject, deployment: HostDeployment, path: str) -> bytes | None:
    for name in (path, f"{path.rstrip('/')}/index.html"):
        row = deployment.files.get(f"{OUTPUT}static{name}")
        if row is not None:
            return project.blob(row)
    return None


def asked_of(
    instances: Instances, project: HostProject, deployment: HostDeployment, name: str
) -> Instance:
    files = deployment.functions[name]
    settings = json.loads(project.blob(files[".vc-config.json"]))
    contents = {path: (project.blob(row), row.get("mode", 0o644)) for path, row in files.items()}
    env = {**settings.get("environment", {}), **deployment.body.get("env", {})}
    given = FunctionFiles(contents, settings["handler"], env, project.log(name))
    return instances.of((deployment.id, name), given)


def timed(instances: Instances, project: HostProject, path: str) -> Passed:
    """The time of a schedule comes now."""
    assert project.shown is not None
    assert any(one["path"] == path for one in project.config(project.shown)["crons"])
    return answered(instances, project, "GET", path, Passed(b"", _CLOCK))


def _filled(text: str, found: re.Match[str]) -> str:
    return re.sub(r"\$(\d+)", lambda one: found[int(one[1])] or "", text)


def _filled_headers(route: dict[str, Any], found: re.Match[str]) -> list[tuple[str, str]]:
    return [(name, _filled(text, found)) for name, text in route["headers"].items()]


def _taken(route: dict[str, Any], method: str, path: str) -> re.Match[str] | None:
    flags = 0 if route.get("caseSensitive") else re.IGNORECASE
    source = route["src"]
    whole = f"{'' if source.startswith('^') else '^'}{source}{'' if source.endswith('$') else '$'}"
    is_method = method in route.get("methods", (method,))
    return re.match(whole, path, flags) if is_method else None
