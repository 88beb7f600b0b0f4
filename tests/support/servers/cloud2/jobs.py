"""Cloud Scheduler: jobs, without a clock of their own."""

import base64
from typing import Any

from tests.support.servers.cloud2.functions import Names, place_of
from tests.support.servers.cloud2.project import Cloud2Project
from tests.support.servers.cloud2.refusals import RefusedRequestError, invalid, not_found


def _name(names: Names) -> str:
    return f"{place_of(names)}/jobs/{names['jobsId']}"


def _checked(job: dict[str, Any]) -> dict[str, Any]:
    if len(job.get("schedule", "").split()) != 5:
        raise invalid("Schedule or time zone is invalid.")
    base64.b64decode(job["httpTarget"].get("body", ""), validate=True)
    if len(job.get("description", "")) > 500:
        raise invalid("description is too long")
    return job


def create(project: Cloud2Project, _names: Names, _query: Names, body: Any) -> Any:
    if body["name"] in project.jobs:
        raise RefusedRequestError(409, "ALREADY_EXISTS", f"Job [{body['name']}] already exists.")
    project.jobs[body["name"]] = _checked(dict(body))
    return {**body, "state": "ENABLED"}


def get(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    found = project.jobs.get(_name(names))
    if found is None:
        raise not_found(_name(names))
    return {**found, "state": "ENABLED"}


def patch(project: Cloud2Project, names: Names, query: Names, body: Any) -> Any:
    found = get(project, names, {}, None)
    found.pop("state")
    asked = {name: body[name] for name in query["updateMask"].split(",") if name in body}
    project.jobs[_name(names)] = _checked({**found, **asked})
    return project.jobs[_name(names)]


def delete(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    get(project, names, {}, None)
    del project.jobs[_name(names)]
    return {}


def listed(project: Cloud2Project, names: Names, _query: Names, _body: Any) -> Any:
    place = place_of(names) + "/"
    return {"jobs": [one for name, one in project.jobs.items() if name.startswith(place)]}
