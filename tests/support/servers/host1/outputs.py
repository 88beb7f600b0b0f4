"""What a build's output has to be: told as the error of a deployment that is none."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.support.servers.host1.described import Description
from tests.support.servers.host1.projects import HostDeployment, HostProject

_RUNTIMES = frozenset(("nodejs20.x", "nodejs22.x", "nodejs24.x"))
_RESERVED = re.compile(r"AWS_(SECRET_KEY|EXECUTION_ENV|LAMBDA_.*)|NOW_REGION|TZ|LAMBDA_.*")
_ENVIRONMENT_BYTES = 64 * 1024
_CRONS, _SECONDS = 100, 800
_FIELD = re.compile(r"(\*|\d+(-\d+)?)(/\d+)?(,(\*|\d+(-\d+)?)(/\d+)?)*")


def wrong_in(
    description: Description, project: HostProject, deployment: HostDeployment
) -> Iterator[str]:
    config = project.config(deployment)
    if config.get("version") != 3:
        yield "config.json has no version 3"
    yield from description.wrong_routes(config.get("routes", []))
    yield from _wrong_crons(config.get("crons", []))
    for name, files in deployment.functions.items():
        row = files.get(".vc-config.json")
        settings = json.loads(project.blob(row)) if row else {}
        yield from (f"{name}: {one}" for one in description.wrong_function(settings))
        yield from (f"{name}: {one}" for one in _wrong_settings(settings, frozenset(files)))
    yield from _wrong_env(deployment.body.get("env", {}))


def _wrong_settings(settings: dict[str, Any], files: frozenset[str]) -> Iterator[str]:
    if settings.get("runtime") not in _RUNTIMES:
        yield f"the runtime {settings.get('runtime')} is not supported"
    if settings.get("handler") not in files:
        yield f"the handler {settings.get('handler')} is not there"
    if settings.get("maxDuration", 1) not in range(1, _SECONDS + 1):
        yield f"maxDuration is {settings['maxDuration']}"


def _wrong_crons(crons: Any) -> Iterator[str]:
    if len(crons) > _CRONS:
        yield f"there are {len(crons)} crons"
    for one in crons:
        if one.keys() != {"path", "schedule"} or not one["path"].startswith("/"):
            yield f"the cron {one} has no path"
        fields = one["schedule"].split()
        is_cron = len(fields) == 5 and all(_FIELD.fullmatch(part) for part in fields)
        if not is_cron or "*" not in (fields[2], fields[4]):
            yield f"the schedule {one['schedule']} is none"


def _wrong_env(env: dict[str, str]) -> Iterator[str]:
    yield from (f"{name} is reserved" for name in env if _RESERVED.fullmatch(name))
    if sum(len(f"{name}{value}".encode()) for name, value in env.items()) > _ENVIRONMENT_BYTES:
        yield "the environment is larger than 64 KB"
