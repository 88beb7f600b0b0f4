"""Release on Vercel: point the project's domains to the prepared deployment."""

from collections.abc import Sequence

from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.host1.deployments import Host1Work, deployment_of
from fabric.providers.host1.kept import DEPLOYMENT, DOMAIN, PROJECT, sure_texts
from fabric.providers.host1.own_settings import function_name, owner_of, version_in
from fabric.providers.host1.projects import domain_of, led_to, shown
from fabric.providers.naming import function_endpoint


def released(
    work: Host1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    # What a deploy has failed to make has no version.
    functions = [one for one in functions if version_in(one.resource_id).deployment]
    ident = _one_deployment(address, functions)
    domain = sure_texts(address).get(DOMAIN) or domain_of(work)
    _met(work, address, domain, ident)
    endpoint = work.api.account.endpoint(domain)
    left = {PROJECT: work.project, DEPLOYMENT: ident, DOMAIN: domain}
    return Released(endpoint, _outputs(address, endpoint, functions), tuple(left.items()))


def _met(work: Host1Work, address: DeploymentAddress, domain: str, ident: str) -> None:
    there = shown(work, owner_of(address), domain)
    if there is not None and there.ident == ident:
        return
    row = deployment_of(work, ident)
    if row is None:
        message = f"the deployment {ident} of `{address.service}` no longer exists"
        raise FabricError(Problem("deploy/incomplete", message, "run: fabric deploy --force"))
    led_to(work, domain, row)
    work.watch.hear(f"`{domain}` points to the deployment {ident}")


def _one_deployment(address: DeploymentAddress, functions: Sequence[LiveFunction]) -> str:
    versions = {version_in(one.resource_id) for one in functions}
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


def _outputs(address: DeploymentAddress, endpoint: str, functions: Sequence[LiveFunction]) -> Pairs:
    """Build the outputs for other services, equal for all deployments."""
    outputs = {"url": endpoint}
    for one in functions:
        below = function_endpoint(endpoint, one.triggers)
        if below:
            outputs[f"url_{one.name}"] = below
        outputs[f"arn_{one.name}"] = function_name(address, one.name)
    return tuple((name, text) for name, text in outputs.items() if text)
