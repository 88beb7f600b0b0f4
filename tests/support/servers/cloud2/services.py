"""Cloud Run, as far as functions have it: revisions, traffic, and who may call."""

import copy
import uuid
from typing import Any

from tests.support.servers.cloud2.functions import NAME, Names, place_of
from tests.support.servers.cloud2.project import Cloud2Project, RevisionState, ServiceState
from tests.support.servers.cloud2.refusals import (
    BuildFailedError,
    RefusedRequestError,
    invalid,
    not_found,
)
from tests.support.servers.cloud2.running import ImageInstance
from tests.support.servers.pulled_images import NotThereError, pull

_WRITTEN = frozenset(("description", "labels", "template", "ingress"))


def service(project: Cloud2Project, names: Names) -> ServiceState:
    found = project.services.get(names["servicesId"])
    if found is None:
        raise not_found(f"{place_of(names)}/services/{names['servicesId']}")
    return found


def get(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    found = service(project, names)
    name = f"{place_of(names)}/services/{found.name}"
    latest = f"{name}/revisions/{found.revisions[-1].id}" if found.revisions else ""
    more = {"latestReadyRevision": latest, "latestCreatedRevision": latest}
    shown = {"name": name, "traffic": found.traffic, "uri": project.url(found.name), **more}
    if found.document is None:
        function = project.functions[found.name].document
        labels = {**function.get("labels", {}), "goog-managed-by": "cloudfunctions"}
        return {**shown, "labels": labels}
    if found.pending is not None and not found.pending.done:
        found.pending.look()
    template = {"serviceAccount": project.account, **found.document["template"]}
    is_moving = found.pending is not None and not found.pending.done
    return {**found.document, **shown, "template": template, "reconciling": is_moving}


def create(project: Cloud2Project, names: Names, query: Names, body: Any) -> Any:
    name = query.get("serviceId", "")
    if name in project.services:
        raise RefusedRequestError(409, "ALREADY_EXISTS", f"Resource '{name}' already exists")
    if not NAME.fullmatch(name):
        raise invalid("service id must contain only lower case Latin letters, digits and a hyphen")
    _checked(body)
    found = project.services[name] = ServiceState(name, document=body)
    return _begun(project, place_of(names), found, body)


def patch(project: Cloud2Project, names: Names, query: Names, body: Any) -> Any:
    found = service(project, names)
    if query.get("updateMask") == "traffic":
        return _patch_traffic(project, names, found, body)
    masks = query.get("updateMask", "").split(",")
    if found.document is None or not _WRITTEN.issuperset(masks):
        raise RefusedRequestError(501, "UNIMPLEMENTED", f"this server does not write {masks}")
    if found.pending is not None and not found.pending.done:
        raise RefusedRequestError(409, "ABORTED", "unable to queue the operation")
    document = copy.deepcopy(found.document)
    for mask in masks:
        document[mask] = body.get(mask)
    _checked(document)
    return _begun(project, place_of(names), found, document)


def _checked(document: Any) -> None:
    [container] = document["template"]["containers"]
    limits = container["resources"]["limits"]
    if document["template"].get("maxInstanceRequestConcurrency", 80) > 1 > float(limits["cpu"]):
        raise invalid("maxInstanceRequestConcurrency greater than 1 requires at least 1 CPU")
    if "PORT" in [one["name"] for one in container["env"]]:
        raise invalid("The following reserved env names were provided: PORT")
    if "@sha256:" not in container["image"]:
        raise invalid("this server takes images by their digest")


def _begun(
    project: Cloud2Project, place: str, found: ServiceState, document: dict[str, Any]
) -> Any:
    def act() -> dict[str, Any]:
        _served(project, found, document)
        found.document = document
        return {"name": f"{place}/services/{found.name}"}

    found.pending = project.begun(place, act)
    return {"name": found.pending.name, "done": False}


def _served(project: Cloud2Project, found: ServiceState, document: dict[str, Any]) -> None:
    [container] = document["template"]["containers"]
    number = next(project.numbers)
    ident = f"{found.name}-{number:05d}-{uuid.uuid4().hex[:3]}"
    folder = project.folder / ident
    folder.mkdir(parents=True)
    try:
        pulled = pull(container["image"])
    except NotThereError as error:
        raise BuildFailedError(f"Image '{container['image']}' not found.") from error
    env = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    own = {"K_SERVICE": found.name, "K_REVISION": ident}
    for one in container["env"]:
        if "valueSource" in one:
            own[one["name"]] = _secret(project, one["valueSource"]["secretKeyRef"])
    instance = ImageInstance(folder, pulled, tuple(container["command"]), {**own, **env})
    instance.check()
    found.revisions.append(
        RevisionState(
            ident, f"2026-01-01T00:00:00.{number:06d}Z", env, instance, container["image"]
        )
    )
    project.rest(instance)


def _secret(project: Cloud2Project, reference: Any) -> str:
    parts = reference["secret"].split("/")
    owner, name = (parts[1], parts[3]) if len(parts) > 1 else (project.id, parts[0])
    key = f"{owner}/{name}/{reference['version']}"
    if key not in project.secrets:
        raise BuildFailedError(f"Permission denied on secret: {key}")
    return project.secrets[key]


def delete(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    found = service(project, names)
    if found.document is None:
        raise RefusedRequestError(400, "FAILED_PRECONDITION", "Service is managed by a function")

    def act() -> dict[str, Any]:
        project.services.pop(found.name, None)
        for one in found.revisions:
            one.instance.stop()
        return {}

    return {"name": project.begun(place_of(names), act, looks=1).name, "done": False}


def _patch_traffic(project: Cloud2Project, names: Names, found: ServiceState, body: Any) -> Any:
    rows = body["traffic"]
    if sum(row.get("percent", 0) for row in rows) != 100:
        raise invalid("Traffic percentages must sum to 100")
    for row in rows:
        if row.get("revision") and found.revision(row["revision"]) is None:
            raise invalid(f"Revision '{row['revision']}' is not found")

    def act() -> dict[str, Any]:
        found.traffic = rows
        return {"name": found.name}

    begun = project.begun(place_of(names), act, looks=1)
    return {"name": begun.name, "done": False}


def revisions(project: Cloud2Project, names: Names, query: Names, _body: Any) -> Any:
    """The newest first, and two at a time: there are pages."""
    rows = list(reversed(service(project, names).revisions))
    start, size = int(query.get("pageToken") or 0), min(2, int(query.get("pageSize") or 2))
    more = {"nextPageToken": str(start + size)} if start + size < len(rows) else {}
    found = [_shown(names, one) for one in rows[start : start + size]]
    return {"revisions": found, **more}


def revision(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    found = service(project, names).revision(names["revisionsId"])
    if found is None:
        raise not_found(names["revisionsId"])
    return _shown(names, found)


def delete_revision(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    found, ident = service(project, names), names["revisionsId"]
    if found.met is not None and found.met.id == ident:
        raise RefusedRequestError(400, "FAILED_PRECONDITION", "Revision is serving traffic")
    gone = found.revision(ident)
    if gone is None:
        raise not_found(ident)
    gone.instance.stop()
    found.revisions.remove(gone)
    return {"name": project.begun(place_of(names), dict, looks=1).name, "done": False}


def _shown(names: Names, one: RevisionState) -> dict[str, Any]:
    env = [{"name": name, "value": value} for name, value in one.env.items()]
    return {
        "name": f"{place_of(names)}/services/{names['servicesId']}/revisions/{one.id}",
        "createTime": one.created,
        "containers": [{"env": env, "image": one.image}],
        "conditions": [{"type": "Ready", "state": "CONDITION_SUCCEEDED"}],
    }


def policy(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    return service(project, names).policy


def set_policy(project: Cloud2Project, names: Names, _query: Names, body: Any) -> Any:
    found = service(project, names)
    if body["policy"].get("etag") not in (None, found.policy["etag"]):
        raise RefusedRequestError(409, "ABORTED", "There were concurrent policy changes.")
    found.policy = {**body["policy"], "etag": uuid.uuid4().hex[:8]}
    return found.policy


def may_call(found: ServiceState, member: str) -> bool:
    rows = [row for row in found.policy.get("bindings", ()) if row["role"] == "roles/run.invoker"]
    return any({"allUsers", member}.intersection(row["members"]) for row in rows)
