"""Cloud Run, as far as functions have it: revisions, traffic, and who may call."""

import uuid
from typing import Any

from tests.support.servers.cloud2.functions import Names, place_of
from tests.support.servers.cloud2.project import Cloud2Project, RevisionState, ServiceState
from tests.support.servers.cloud2.refusals import RefusedRequestError, invalid, not_found


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
    return {"name": name, "traffic": found.traffic, "uri": project.url(found.name), **more}


def patch(project: Cloud2Project, names: Names, query: Names, body: Any) -> Any:
    found = service(project, names)
    if query.get("updateMask") != "traffic":
        raise RefusedRequestError(501, "UNIMPLEMENTED", "only traffic is written in this server")
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
        "containers": [{"env": env}],
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
