"""Release on Vercel: point the project's domains to the prepared deployment."""

from collections.abc import Iterator, Mapping, Sequence

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import RELEASE_UNCERTAIN, FunctionRecord, Record
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.release_state import CurrentOwner, find_owner_conflict
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.triggers import build_function_endpoint
from fabric.providers.host1.client import (
    ProjectVersion,
    build_function_name,
    build_project_owner,
    parse_version,
)
from fabric.providers.host1.functions import (
    Host1Work,
    HostDeploymentRow,
    delete_deployment,
    fetch_deployment,
    list_deployments,
    list_newest_deployments,
)
from fabric.providers.host1.projects import fetch_domain, fetch_own_production, point_domains


def release_service(
    work: Host1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    # What a deploy has failed to make has no version.
    functions = [one for one in functions if parse_version(one.resource_id).deployment]
    ident = _require_one_deployment(address, functions)
    domain = read_trusted_texts(address).get(DOMAIN) or fetch_domain(work)
    _activate_deployment(work, address, domain, ident)
    endpoint = work.api.account.endpoint(domain)
    left = {PROJECT: work.project, DEPLOYMENT: ident, DOMAIN: domain}
    return Released(endpoint, _build_outputs(address, endpoint, functions), tuple(left.items()))


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


def _require_one_deployment(address: DeploymentAddress, functions: Sequence[LiveFunction]) -> str:
    versions = {parse_version(one.resource_id) for one in functions}
    whole = next(iter(versions), None)
    if whole is not None and len(versions) == 1 and whole.count == len(functions):
        return whole.deployment
    message = (
        f"no deployment contains exactly the functions of `{address.service}` "
        f"({len(functions)}): they are in {len(versions)} deployments, and a domain points to "
        "one"
    )
    hint = "deploy the whole service with `--force` and without `--function`"
    raise FabricError(Problem("deploy/incomplete", message, hint))


def _build_outputs(
    address: DeploymentAddress, endpoint: str, functions: Sequence[LiveFunction]
) -> Pairs:
    """Build the outputs for other services, equal for all deployments."""
    outputs = {"url": endpoint}
    for one in functions:
        below = build_function_endpoint(endpoint, one.triggers)
        if below:
            outputs[f"url_{one.name}"] = below
        outputs[f"arn_{one.name}"] = build_function_name(address, one.name)
    return tuple((name, text) for name, text in outputs.items() if text)


PROJECT, DEPLOYMENT, DOMAIN = "project", "deployment", "domain"


def read_trusted_texts(address: DeploymentAddress) -> dict[str, str]:
    """Return the stored values, empty if they cannot be trusted."""
    record = address.previous
    if record is None or RELEASE_UNCERTAIN in record.kept:
        return {}
    return dict(record.kept)


def find_project_conflict(record: Record, project: str) -> Problem | None:
    """Return a problem if the record belongs to another project."""
    noted = (parse_version(one.resource_id).project for one in record.functions)
    return find_owner_conflict(record, noted, CurrentOwner(PROJECT, "HOST1_PROJECT_ID", project))


def refuse_single(
    work: Host1Work,  # noqa: ARG001 - nothing is done
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    names = ", ".join(f"`{one.name}`" for one in functions)
    message = f"Vercel cannot delete single functions ({names}): a domain points to one deployment"
    hint = f"remove the function from the config of `{address.service}` and deploy"
    raise FabricError(Problem("remove/whole-service", message, hint))


def delete_service(
    work: Host1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],  # noqa: ARG001 - metadata tells what is ours
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
