"""Cloud Functions, second generation: builds that take a while, and what they leave."""

import copy
import re
import uuid
from collections.abc import Mapping
from typing import Any

from tests.support.servers.cloud2.project import (
    LATEST,
    Cloud2Project,
    FunctionState,
    RevisionState,
    ServiceState,
)
from tests.support.servers.cloud2.refusals import (
    BuildFailedError,
    RefusedRequestError,
    invalid,
    not_found,
)
from tests.support.servers.cloud2.running import Instance

NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9_-]{0,63}")
_RUNTIME = re.compile(r"nodejs(18|20|22|24)|python3(09|9|1[0-4])")
Names = Mapping[str, str]


def place_of(names: Names) -> str:
    return f"projects/{names['projectsId']}/locations/{names['locationsId']}"


def upload_url(project: Cloud2Project, _names: Names, _query: Names, _body: Any) -> Any:
    ident = f"{uuid.uuid4().hex}.zip"
    project.uploads[ident] = b""
    source = {"bucket": "gcf-v2-uploads-1", "object": ident}
    return {"uploadUrl": f"{project.endpoint}/upload/{project.id}/{ident}", "storageSource": source}


def create(project: Cloud2Project, names: Names, query: Names, body: Any) -> Any:
    name = query.get("functionId", "")
    if name in project.functions:
        raise RefusedRequestError(409, "ALREADY_EXISTS", f"Resource '{name}' already exists")
    if not NAME.fullmatch(name):
        raise invalid("function id must contain only lower case Latin letters, digits and a hyphen")
    checked(body)
    state = FunctionState({**body, "name": f"{place_of(names)}/functions/{name}"})
    project.functions[name] = state
    return begun(project, state, state.document)


def patch(project: Cloud2Project, names: Names, query: Names, body: Any) -> Any:
    state = function(project, names)
    if state.pending is not None and not state.pending.done:
        message = "unable to queue the operation"
        raise RefusedRequestError(409, "ABORTED", message)
    document = copy.deepcopy(state.document)
    for mask in query["updateMask"].split(","):
        _masked(document, body, mask.split("."))
    checked(document)
    state.state = "DEPLOYING"
    return begun(project, state, document)


def _masked(document: dict[str, Any], body: Mapping[str, Any], path: list[str]) -> None:
    for name in path[:-1]:
        document, body = document.setdefault(name, {}), body.get(name, {})
    if path[-1] in body:
        document[path[-1]] = body[path[-1]]
    else:
        document.pop(path[-1], None)


def checked(document: Mapping[str, Any]) -> None:
    build, service = document.get("buildConfig", {}), document.get("serviceConfig", {})
    if not _RUNTIME.fullmatch(build.get("runtime", "")):
        raise invalid(f"runtime: {build.get('runtime')} is not a supported runtime")
    if not build.get("entryPoint"):
        raise invalid("build_config.entry_point is required")
    _checked_sizes(service)
    if "PORT" in service.get("environmentVariables", {}):
        raise invalid("environment variable PORT is reserved")
    for name, value in document.get("labels", {}).items():
        if not (_LABEL.fullmatch(name) and _LABEL.fullmatch(value)):
            raise invalid(f"label {name}={value} is not valid")


def _checked_sizes(service: Mapping[str, Any]) -> None:
    if service.get("maxInstanceRequestConcurrency", 1) > 1 and (
        float(service.get("availableCpu", 0)) < 1
    ):
        raise invalid("concurrency greater than 1 requires at least 1 CPU")
    most = service.get("maxInstanceCount")
    if most is not None and service.get("minInstanceCount", 0) > most:
        raise invalid("min_instance_count is greater than max_instance_count")
    if "vpcConnectorEgressSettings" in service and "vpcConnector" not in service:
        raise invalid("VPC connector is required to set egress settings")
    secrets = [one["key"] for one in service.get("secretEnvironmentVariables", ())]
    if set(secrets) & set(service.get("environmentVariables", {})):
        raise invalid("a secret environment variable overlaps an environment variable")


def _secret_values(project: Cloud2Project, config: Mapping[str, Any]) -> dict[str, str]:
    """Of one secret manager: its secrets by `project/name/version`."""
    found = {}
    for one in config.get("secretEnvironmentVariables", ()):
        name = f"{one.get('projectId', project.id)}/{one['secret']}/{one['version']}"
        if name not in project.secrets:
            raise BuildFailedError(f"Permission denied on secret: {name}")
        found[one["key"]] = project.secrets[name]
    return found


def begun(project: Cloud2Project, state: FunctionState, document: dict[str, Any]) -> Any:
    source = document["buildConfig"].get("source", {}).get("storageSource", {})
    content = project.uploads.get(source.get("object", ""))
    if not content:
        raise invalid("Source object was not uploaded")
    place = document["name"].partition("/functions/")[0]

    def act() -> dict[str, Any]:
        try:
            _served(project, document, content)
        except BuildFailedError:
            state.state = "ACTIVE" if name_in(document) in project.services else "FAILED"
            raise
        state.document, state.state = document, "ACTIVE"
        return shown(project, state)

    state.pending = project.begun(place, act)
    return {"name": state.pending.name, "done": False}


def name_in(document: Mapping[str, Any]) -> str:
    return str(document["name"]).rpartition("/")[2]


def _served(project: Cloud2Project, document: Mapping[str, Any], content: bytes) -> None:
    """A revision that runs; it is met at once where traffic goes to the latest."""
    name, config = name_in(document), document.get("serviceConfig", {})
    number = next(project.numbers)
    ident = f"{name}-{number:05d}-{uuid.uuid4().hex[:3]}"
    folder = project.folder / ident
    folder.mkdir(parents=True)
    env = dict(config.get("environmentVariables", {}))
    own = {"K_SERVICE": name, "K_REVISION": ident, "FUNCTION_TARGET": "fabric"}
    instance = Instance(
        folder,
        content,
        document["buildConfig"]["runtime"],
        {**own, **env, **_secret_values(project, config)},
    )
    instance.check()
    service = project.services.setdefault(name, ServiceState(name))
    service.revisions.append(
        RevisionState(ident, f"2026-01-01T00:00:00.{number:06d}Z", env, instance)
    )
    if config.get("allTrafficOnLatestRevision"):
        service.traffic = [{"type": LATEST, "percent": 100}]
    project.rest(instance)


def function(project: Cloud2Project, names: Names) -> FunctionState:
    state = project.functions.get(names["functionsId"])
    if state is None:
        raise not_found(f"{place_of(names)}/functions/{names['functionsId']}")
    return state


def shown(project: Cloud2Project, state: FunctionState) -> dict[str, Any]:
    name = name_in(state.document)
    config = {
        "availableMemory": "256M",
        "timeoutSeconds": 60,
        "serviceAccountEmail": project.account,
        **state.document.get("serviceConfig", {}),
    }
    service = project.services.get(name)
    if service is not None and service.revisions:
        config |= {"uri": project.url(name), "revision": service.revisions[-1].id}
    return {**state.document, "state": state.state, "serviceConfig": config}


def get(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    state = function(project, names)
    if state.pending is not None and not state.pending.done:
        state.pending.look()
    state = function(project, names)
    return shown(project, state)


def listed(project: Cloud2Project, _names: Names, _query: Names, _body: Any) -> Any:
    return {"functions": [shown(project, one) for one in project.functions.values()]}


def delete(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    state, name = function(project, names), names["functionsId"]
    state.state = "DELETING"

    def act() -> dict[str, Any]:
        service = project.services.pop(name, None)
        for one in service.revisions if service else ():
            one.instance.stop()
        project.functions.pop(name, None)
        return {}

    state.pending = project.begun(place_of(names), act, looks=1)
    return {"name": state.pending.name, "done": False}


def operation(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    """Of functions and of services alike."""
    name = f"{place_of(names)}/operations/{names['operationsId']}"
    found = project.operations.get(name)
    if found is None:
        raise not_found(name)
    return found.look()
