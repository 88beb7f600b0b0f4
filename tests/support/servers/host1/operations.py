"""The interface's operations, under the names that its description gives them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.servers.host1.described import Description
from tests.support.servers.host1.outputs import wrong_in
from tests.support.servers.host1.projects import (
    HostDeployment,
    HostProject,
    RefusedError,
    new_id,
)

_AT_REST = frozenset(("READY", "ERROR", "CANCELED"))


@dataclass(frozen=True)
class Given:
    """What came with a call; `names` are the parts of its path."""

    description: Description
    names: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


Operation = Callable[[HostProject, Given], tuple[int, Any]]


def _user(project: HostProject, _given: Given) -> tuple[int, Any]:
    user = {
        "id": "user_1",
        "email": f"{project.id}@example.test",
        "name": "Some Body",
        "username": "somebody",
        "avatar": None,
        "limited": True,
        "defaultTeamId": project.team,
    }
    return 200, {"user": user}


def _project(project: HostProject, given: Given) -> tuple[int, Any]:
    _own(project, given.names["idOrName"])
    return 200, {
        "id": project.id,
        "name": project.name,
        "accountId": project.team,
        "rootDirectory": project.root_directory,
        "alias": [],
        "framework": None,
        "nodeVersion": "22.x",
        "directoryListing": False,
        "resourceConfig": {"functionDefaultRegions": ["iad1"]},
        "defaultResourceConfig": {"functionDefaultRegions": ["iad1"]},
        "deploymentExpiration": {},
        "features": {},
    }


def _domains(project: HostProject, given: Given) -> tuple[int, Any]:
    _own(project, given.names["idOrName"])
    rows = [
        {"apexName": one["name"], "projectId": project.id, "verified": True, **one}
        for one in project.domains
        if not (given.query.get("redirects") == "false" and one.get("redirect"))
    ]
    return 200, {"domains": rows, "pagination": {"count": len(rows), "next": None, "prev": None}}


def _own(project: HostProject, name: str) -> None:
    if name not in (project.id, project.name):
        raise RefusedError(404, "not_found", "Project not found.")


def _upload(project: HostProject, given: Given) -> tuple[int, Any]:
    headers = {name.lower(): text for name, text in given.headers.items()}
    digest = headers.get("x-vercel-digest") or headers.get("x-now-digest")
    if hashlib.sha1(given.body, usedforsecurity=False).hexdigest() != digest:
        raise RefusedError(400, "bad_request", "the digest is not that of the content")
    if int(headers.get("x-now-size", len(given.body))) != len(given.body):
        raise RefusedError(400, "bad_request", "the size is not that of the content")
    project.blobs[digest] = given.body
    return 200, {"urls": []}


def _create(project: HostProject, given: Given) -> tuple[int, Any]:
    body = given.body
    _own(project, body.get("project") or body["name"])
    if given.query.get("prebuilt") != "1":
        raise RefusedError(400, "bad_request", "nothing is built here")
    # Inlined files are put beside the others.
    rows = [one if "sha" in one else _inlined(project, one) for one in body.get("files", ())]
    missing = sorted({one["sha"] for one in rows} - project.blobs.keys())
    if missing:
        raise RefusedError(400, "missing_files", "Missing files", {"missing": missing})
    created = next(project.clock)
    ident = new_id("dpl")
    made = HostDeployment(ident, created, f"{ident.replace('_', '-')}.vercel.test", body)
    made.body = {**body, "files": rows}
    made.looks = project.looks
    made.error = project.failure or "; ".join(wrong_in(given.description, project, made))
    project.deployments[ident] = made
    _settled(project, made)
    return 200, _told(project, made)


def _inlined(project: HostProject, row: Mapping[str, Any]) -> dict[str, Any]:
    content = row["data"].encode()
    digest = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    project.blobs[digest] = content
    return {"file": row["file"], "sha": digest, "size": len(content)}


def _settled(project: HostProject, deployment: HostDeployment) -> None:
    """On the way to what it ends as; each look brings it nearer."""
    if deployment.state in _AT_REST:
        return
    if deployment.looks > 0:
        deployment.state = "BUILDING"
        deployment.looks -= 1
        return
    deployment.state = "ERROR" if deployment.error else "READY"
    if deployment.state == "READY" and deployment.body.get("target") == "production":
        deployment.substate = "STAGED"
        if deployment.body.get("autoAssignCustomDomains", True):
            _met(project, deployment)


def _met(project: HostProject, deployment: HostDeployment) -> None:
    project.current = deployment.id
    deployment.substate = "PROMOTED"


def _found(project: HostProject, name: str) -> HostDeployment:
    """By its id, its own address, or a domain of the project."""
    if name in {one["name"] for one in project.domains}:
        name = project.current
    rows = project.deployments.values()
    found = next((one for one in rows if name in (one.id, one.url)), None)
    if found is None:
        raise RefusedError(404, "not_found", "Deployment not found")
    return found


def _look(project: HostProject, given: Given) -> tuple[int, Any]:
    found = _found(project, given.names["idOrUrl"])
    _settled(project, found)
    return 200, _told(project, found)


def _list(project: HostProject, given: Given) -> tuple[int, Any]:
    query = given.query
    _own(project, query.get("projectId", project.id))
    until = int(query.get("until", "0")) or float("inf")
    rows = [
        one
        for one in reversed(project.deployments.values())
        if one.created < until and query.get("target") in (None, one.body.get("target"))
    ]
    limit = min(int(query.get("limit", "20")), 100)
    page = rows[:limit]
    after = page[-1].created if len(rows) > limit else None
    pages = {"count": len(page), "next": after, "prev": page[0].created if page else None}
    return 200, {"deployments": [_listed(project, one) for one in page], "pagination": pages}


def _remove(project: HostProject, given: Given) -> tuple[int, Any]:
    found = _found(project, given.names["id"])
    del project.deployments[found.id]
    if project.current == found.id:
        project.current = ""
    return 200, {"uid": found.id, "state": "DELETED"}


def _promote(project: HostProject, given: Given) -> tuple[int, Any]:
    found = _pointed(project, given)
    _met(project, found)
    return 201, None


def _rollback(project: HostProject, given: Given) -> tuple[int, Any]:
    found = _pointed(project, given)
    if found.substate != "PROMOTED":
        raise RefusedError(422, "not_eligible", "it has never served production traffic")
    if project.is_small_plan:
        raise RefusedError(402, "payment_required", "the plan has no older deployments")
    _met(project, found)
    return 201, None


def _pointed(project: HostProject, given: Given) -> HostDeployment:
    _own(project, given.names["projectId"])
    found = _found(project, given.names["deploymentId"])
    if found.state != "READY" or found.body.get("target") != "production":
        raise RefusedError(400, "bad_request", "only what is ready for production is promoted")
    if found.id == project.current:
        raise RefusedError(409, "conflict", "it is the current deployment of production")
    return found


def _told(project: HostProject, one: HostDeployment) -> dict[str, Any]:
    listed = _listed(project, one)
    names = ("name", "url", "created", "createdAt", "readyState", "meta", "target", "creator")
    is_met = project.current == one.id
    return {
        "id": one.id,
        "uid": one.id,
        **{name: listed[name] for name in names},
        "readySubstate": one.substate,
        "errorMessage": one.error or None,
        "env": sorted(one.body.get("env", {})),
        "build": {"env": []},
        "buildingAt": one.created,
        "type": "LAMBDAS",
        "version": 2,
        "public": False,
        "status": one.state,
        "regions": ["iad1"],
        "routes": project.config(one).get("routes", []),
        "plan": "pro",
        "projectId": project.id,
        "ownerId": project.team,
        "bootedAt": one.created,
        "createdIn": "iad1",
        "inspectorUrl": None,
        "aliasAssigned": one.state == "READY",
        "alias": [row["name"] for row in project.domains] if is_met else [],
    }


def _listed(project: HostProject, one: HostDeployment) -> dict[str, Any]:
    return {
        "uid": one.id,
        "name": project.name,
        "projectId": project.id,
        "url": one.url,
        "created": one.created,
        "createdAt": one.created,
        "state": one.state,
        "readyState": one.state,
        **({"readySubstate": one.substate} if one.substate else {}),
        "meta": one.body.get("meta", {}),
        "target": one.body.get("target"),
        "type": "LAMBDAS",
        "inspectorUrl": None,
        "creator": {"uid": "user_1", "username": "somebody"},
    }


OPERATIONS: dict[str, Operation] = {
    "getAuthUser": _user,
    "getProject": _project,
    "getProjectDomains": _domains,
    "getDeployment": _look,
    "getDeployments": _list,
    "uploadFile": _upload,
    "createDeployment": _create,
    "deleteDeployment": _remove,
    "requestPromote": _promote,
    "requestRollback": _rollback,
}
