"""Release on Netlify: publish the prepared deploy with everything in it."""

from collections.abc import Sequence

from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.triggers import build_function_endpoint
from fabric.providers.host2.deploys import Host2Work, publish_deploy
from fabric.providers.host2.making import require_own_site
from fabric.providers.host2.release_state import DEPLOY, SITE
from fabric.providers.host2.resource_names import (
    build_function_name,
    build_service_owner,
    parse_version,
)


def release_service(
    work: Host2Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    # What a deploy has failed to make has no version.
    functions = [one for one in functions if parse_version(one.resource_id).deploy]
    ident = _require_one_deploy(address, functions)
    # Whatever was noted: somebody may have published another one on the page of the site.
    site = require_own_site(work, build_service_owner(address))
    endpoint = site.endpoint
    if site.published_deploy is None or site.published_deploy.id != ident:
        publish_deploy(work, ident)
        work.watch.hear(f"the deploy {ident} receives all traffic at {endpoint}")
    left = {SITE: work.site, DEPLOY: ident}
    return Released(endpoint, _build_outputs(address, endpoint, functions), tuple(left.items()))


def _require_one_deploy(address: DeploymentAddress, functions: Sequence[LiveFunction]) -> str:
    versions = {parse_version(one.resource_id) for one in functions}
    whole = next(iter(versions), None)
    if whole is not None and len(versions) == 1 and whole.count == len(functions):
        return whole.deploy
    message = (
        f"no deploy contains exactly the functions of `{address.service}` ({len(functions)}): "
        f"they are in {len(versions)} deploys, and a site shows one"
    )
    hint = "deploy the whole service with `--force` and without `--function`"
    raise FabricError(Problem("deploy/incomplete", message, hint))


def _build_outputs(
    address: DeploymentAddress, endpoint: str, functions: Sequence[LiveFunction]
) -> Pairs:
    """Build the outputs for other services, equal for all deploys."""
    outputs = {"url": endpoint}
    for one in functions:
        below = build_function_endpoint(endpoint, one.triggers)
        if below:
            outputs[f"url_{one.name}"] = below
        outputs[f"arn_{one.name}"] = build_function_name(address, one.name)
    return tuple((name, text) for name, text in outputs.items() if text)
