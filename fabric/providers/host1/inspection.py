"""The deployed state of a service on Vercel, as deployment metadata shows it."""

from collections.abc import Iterator, Mapping

from fabric.model.records.record import FunctionRecord, Record
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.host1.deployments import (
    Host1Work,
    HostDeploymentRow,
    fetch_deployment,
    list_newest_deployments,
)
from fabric.providers.host1.projects import fetch_domain
from fabric.providers.host1.release_state import DEPLOYMENT
from fabric.providers.host1.resource_names import (
    ProjectVersion,
    build_function_name,
    build_project_owner,
    parse_version,
)


def find_active_version(
    work: Host1Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the version that receives traffic, with further details from state."""
    there = _fetch_production(work, address)
    known = next(_list_recorded(address.previous, function, there.ident), None) if there else None
    if known is None:
        return None
    return LiveFunction(
        function,
        build_function_name(address, function),
        known.resource_id,
        artifact_sha256=known.artifact_sha256,
    )


def find_function(
    work: Host1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic."""
    if mark:
        return find_by_mark(work, address, function, mark)
    return find_active_version(work, address, function)


def find_by_mark(
    work: Host1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Search only the newest deployment: a function in an older one was deployed together with
    others."""
    owner = build_project_owner(address)
    newest = next((one for one in list_newest_deployments(work) if owner.is_of(one.meta)), None)
    count = owner.count_in(newest.meta, function, mark) if newest and newest.is_ready else 0
    if newest is None or not count:
        return None
    version = ProjectVersion(work.project, newest.ident, count)
    return LiveFunction(function, build_function_name(address, function), version.text, mark=mark)


def find_versions_by_marks(
    work: Host1Work, address: DeploymentAddress, marks: Mapping[str, str]
) -> dict[str, str]:
    """Find marks in any deployment, with one search for all: a rollback target must contain all
    functions together."""
    owner, found = build_project_owner(address), dict[str, str]()
    ready = [one for one in list_newest_deployments(work) if one.is_ready] if marks else []
    for function, mark in marks.items():
        counts = ((one.ident, owner.count_in(one.meta, function, mark)) for one in ready)
        first = next(((ident, count) for ident, count in counts if count), None)
        if first is not None:
            found[function] = ProjectVersion(work.project, *first).text
    return found


def find_missing(work: Host1Work, address: DeploymentAddress) -> Iterator[str]:
    record = address.previous
    ident = dict(record.kept).get(DEPLOYMENT, "") if record else ""
    there = _fetch_production(work, address)
    if ident and (there is None or there.ident != ident):
        yield f"the production deployment `{ident}`"


def _fetch_production(work: Host1Work, address: DeploymentAddress) -> HostDeploymentRow | None:
    there = fetch_deployment(work, fetch_domain(work))
    return there if there is not None and build_project_owner(address).is_of(there.meta) else None


def _list_recorded(record: Record | None, function: str, ident: str) -> Iterator[FunctionRecord]:
    if record is None:
        return
    rows = (record.functions, *(past.functions for past in record.history))
    for one in (one for functions in rows for one in functions):
        if one.name == function and parse_version(one.resource_id).deployment == ident:
            yield one
