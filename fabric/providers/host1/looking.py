"""The deployed state of a service on Vercel, as deployment metadata shows it."""

from collections.abc import Iterator, Mapping

from fabric.model.records.record import FunctionRecord, Record
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.host1.deployments import (
    Host1Work,
    HostDeploymentRow,
    deployment_of,
    newest_deployments,
)
from fabric.providers.host1.kept import DEPLOYMENT
from fabric.providers.host1.own_settings import (
    ProjectVersion,
    function_name,
    owner_of,
    version_in,
)
from fabric.providers.host1.projects import domain_of


def met(work: Host1Work, address: DeploymentAddress, function: str) -> LiveFunction | None:
    """Find the version that receives traffic, with further details from state."""
    there = _shown(work, address)
    known = next(_noted(address.previous, function, there.ident), None) if there else None
    if known is None:
        return None
    return LiveFunction(
        function,
        function_name(address, function),
        known.resource_id,
        artifact_sha256=known.artifact_sha256,
    )


def found(
    work: Host1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic."""
    if mark:
        return made_under(work, address, function, mark)
    return met(work, address, function)


def made_under(
    work: Host1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Search only the newest deployment: a function in an older one was deployed together with
    others."""
    owner = owner_of(address)
    newest = next((one for one in newest_deployments(work) if owner.is_of(one.meta)), None)
    count = owner.count_in(newest.meta, function, mark) if newest and newest.is_ready else 0
    if newest is None or not count:
        return None
    version = ProjectVersion(work.project, newest.ident, count)
    return LiveFunction(function, function_name(address, function), version.text, mark=mark)


def kept_under(
    work: Host1Work, address: DeploymentAddress, marks: Mapping[str, str]
) -> dict[str, str]:
    """Find marks in any deployment, with one search for all: a rollback target must contain all
    functions together."""
    owner, found = owner_of(address), dict[str, str]()
    ready = [one for one in newest_deployments(work) if one.is_ready] if marks else []
    for function, mark in marks.items():
        counts = ((one.ident, owner.count_in(one.meta, function, mark)) for one in ready)
        first = next(((ident, count) for ident, count in counts if count), None)
        if first is not None:
            found[function] = ProjectVersion(work.project, *first).text
    return found


def lost(work: Host1Work, address: DeploymentAddress) -> Iterator[str]:
    record = address.previous
    ident = dict(record.kept).get(DEPLOYMENT, "") if record else ""
    there = _shown(work, address)
    if ident and (there is None or there.ident != ident):
        yield f"the production deployment `{ident}`"


def _shown(work: Host1Work, address: DeploymentAddress) -> HostDeploymentRow | None:
    there = deployment_of(work, domain_of(work))
    return there if there is not None and owner_of(address).is_of(there.meta) else None


def _noted(record: Record | None, function: str, ident: str) -> Iterator[FunctionRecord]:
    if record is None:
        return
    rows = (record.functions, *(past.functions for past in record.history))
    for one in (one for functions in rows for one in functions):
        if one.name == function and version_in(one.resource_id).deployment == ident:
            yield one
