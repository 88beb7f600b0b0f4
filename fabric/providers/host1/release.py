"""Release on Vercel: point the project's domains to the prepared deployment."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import RELEASE_UNCERTAIN
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.triggers import build_outputs
from fabric.providers.core.whole_service import (
    WholeVersion,
    build_function_name,
    find_recorded_function,
    list_deployed,
    require_one_version,
)
from fabric.providers.host1.client import build_project_owner
from fabric.providers.host1.functions import (
    Host1Work,
    HostDeploymentRow,
    delete_deployment,
    fetch_deployment,
    list_deployments,
    list_newest_deployments,
)
from fabric.providers.host1.projects import fetch_domain, fetch_own_production, point_domains

PROJECT, DEPLOYMENT, DOMAIN = "project", "deployment", "domain"
ONE_DOMAIN = "a domain points to one"


def release_service(
    work: Host1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    functions = list_deployed(functions)
    ident = require_one_version(address, functions, "deployment", ONE_DOMAIN)
    domain = read_trusted_texts(address).get(DOMAIN) or fetch_domain(work)
    _activate_deployment(work, address, domain, ident)
    endpoint = work.api.account.endpoint(domain)
    outputs = build_outputs(endpoint, functions, partial(build_function_name, address))
    left = {PROJECT: work.project, DEPLOYMENT: ident, DOMAIN: domain}
    return Released(endpoint, outputs, tuple(left.items()))


def _activate_deployment(
    work: Host1Work, address: DeploymentAddress, domain: str, ident: str
) -> None:
    there = fetch_own_production(work, build_project_owner(address), domain)
    if there is not None and there.ident == ident:
        return
    row = fetch_deployment(work, ident)
    if row is None:
        message = f"the deployment {ident} of `{address.service}` no longer exists"
        raise FabricError(Problem("deploy/incomplete", message, "run: fabric deploy --force"))
    point_domains(work, domain, row)
    work.watch.hear(f"`{domain}` points to the deployment {ident}")


def read_trusted_texts(address: DeploymentAddress) -> dict[str, str]:
    """Return the stored values, empty if they cannot be trusted."""
    record = address.previous
    if record is None or RELEASE_UNCERTAIN in record.kept:
        return {}
    return dict(record.kept)


def delete_service(
    work: Host1Work, address: DeploymentAddress, _functions: Sequence[LiveFunction]
) -> None:
    """Delete all deployments. Deleting the production deployment also unlinks its domains."""
    owner = build_project_owner(address)
    own = [one for one in list_deployments(work) if owner.is_of(one.meta)]
    run_parallel(lambda one: _delete(work, one), own)
    if own:
        work.watch.hear(
            f"deleted {len(own)} deployments of {owner.name}; the project was not deleted"
        )


def _delete(work: Host1Work, one: HostDeploymentRow) -> None:
    with work.convert_errors(f"the deployment {one.ident}"):
        delete_deployment(work, one.ident)


def find_active_version(
    work: Host1Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the version that receives traffic, with further details from state."""
    there = _fetch_production(work, address)
    return find_recorded_function(address, function, there.ident) if there else None


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
    version = WholeVersion(work.project, newest.ident, count)
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
            found[function] = WholeVersion(work.project, *first).text
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
