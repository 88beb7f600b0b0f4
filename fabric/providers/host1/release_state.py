"""The values that the last release stored for this one, and whether they can be trusted."""

from fabric.model.problems import Problem
from fabric.model.records.record import RELEASE_UNCERTAIN, Record
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.host1.resource_names import parse_version

PROJECT, DEPLOYMENT, DOMAIN = "project", "deployment", "domain"


def read_trusted_texts(address: DeploymentAddress) -> dict[str, str]:
    """Return the stored values, empty if they cannot be trusted."""
    record = address.previous
    if record is None or RELEASE_UNCERTAIN in record.kept:
        return {}
    return dict(record.kept)


def find_project_conflict(record: Record, project: str) -> Problem | None:
    """Return a problem if the record belongs to another project. A missing project is reported with
    the missing credentials."""
    noted = (parse_version(one.resource_id).project for one in record.functions)
    projects = {dict(record.kept).get(PROJECT, ""), *noted} - {"", project}
    if not projects or not project:
        return None
    then = min(projects)
    message = (
        f"refusing to change {record.ref.title}: it is deployed in the project `{then}`, and "
        f"`HOST1_PROJECT_ID` is `{project}`; nothing was changed"
    )
    hint = (
        f"set `HOST1_PROJECT_ID` to `{then}`, or run `fabric remove` there before you deploy "
        "elsewhere"
    )
    return Problem("deploy/other-place", message, hint)
