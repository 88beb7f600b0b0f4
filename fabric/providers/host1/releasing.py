"""Release on Vercel: point the project's domains to the prepared deployment."""

from collections.abc import Sequence

from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.triggers import build_function_endpoint
from fabric.providers.host1.deployments import Host1Work, fetch_deployment
from fabric.providers.host1.projects import fetch_domain, fetch_own_production, point_domains
from fabric.providers.host1.release_state import DEPLOYMENT, DOMAIN, PROJECT, read_trusted_texts
from fabric.providers.host1.resource_names import (
    build_function_name,
    build_project_owner,
    parse_version,
)


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
