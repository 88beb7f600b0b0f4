"""Release on Netlify: publish the prepared deploy with everything in it."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import FunctionRecord, Record
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.release_state import CurrentOwner, find_owner_conflict
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.triggers import build_function_endpoint
from fabric.providers.host2.client import (
    ServiceOwner,
    SiteVersion,
    build_function_name,
    build_service_owner,
    is_of_nobody,
    list_recorded_rows,
    list_recorded_versions,
    parse_version,
)
from fabric.providers.host2.functions import (
    DeployRow,
    DesiredDeploy,
    Host2Work,
    create_deploy,
    delete_deploy,
    fetch_deploy,
    fetch_site,
    list_deploys,
    list_newest_deploys,
    publish_deploy,
    wait_until_processed,
)
from fabric.providers.host2.making import require_own_site


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


SITE, DEPLOY = "site", "deploy"


def find_site_conflict(record: Record, site: str) -> Problem | None:
    """Return a problem if the record belongs to another site."""
    noted = (parse_version(one.resource_id).site for one in record.functions)
    return find_owner_conflict(record, noted, CurrentOwner(SITE, "HOST2_SITE_ID", site))


_NOTHING: JsonObject = {"files": {}, "functions": {}, "draft": True}


def refuse_single(
    work: Host2Work,  # noqa: ARG001 - nothing is done
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> None:
    names = ", ".join(f"`{one.name}`" for one in functions)
    message = f"Netlify cannot delete single functions ({names}): a site shows one deploy"
    hint = f"remove the function from the config of `{address.service}` and deploy"
    raise FabricError(Problem("remove/whole-service", message, hint))


def delete_service(
    work: Host2Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],  # noqa: ARG001 - titles tell what is ours
) -> None:
    """Publish an empty deploy and delete the others. Netlify cannot unpublish, so a deploy must
    replace the service."""
    owner = build_service_owner(address)
    _put_nothing_there(work, owner)
    own = [one for one in list_deploys(work) if owner.is_of(one.title)]
    run_parallel(lambda one: _delete(work, one), own)
    if own:
        work.watch.hear(f"deleted {len(own)} deploys of {owner.name}")


def _put_nothing_there(work: Host2Work, owner: ServiceOwner) -> None:
    site = fetch_site(work)
    there = site.published_deploy
    if there is None:
        return
    if owner.is_of(there.title):
        row = create_deploy(work, DesiredDeploy(owner.title_of_nothing, _NOTHING))
        wait_until_processed(work, row)
        publish_deploy(work, row.id)
        work.watch.hear(
            f"the site {site.endpoint} was not deleted; it shows the empty deploy {row.id}"
        )
    elif not is_of_nobody(there.title):
        work.watch.hear(
            f"the site shows the deploy {there.id}, which does not belong to {owner.name}"
        )


def _delete(work: Host2Work, one: DeployRow) -> None:
    with work.convert_errors(f"the deploy {one.id}"):
        delete_deploy(work, one.id)


def find_active_version(
    work: Host2Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the version that receives traffic. Its functions come from state, because a deploy does
    not list them."""
    there = _fetch_published(work, address)
    known = next(_list_recorded(address.previous, function, there.id), None) if there else None
    if known is None:
        return None
    return LiveFunction(
        function,
        build_function_name(address, function),
        known.resource_id,
        artifact_sha256=known.artifact_sha256,
    )


def find_function(
    work: Host2Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic."""
    if mark:
        return find_by_mark(work, address, function, mark)
    return find_active_version(work, address, function)


def find_by_mark(
    work: Host2Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Search only the newest deploy: a function in an older one was deployed together with
    others."""
    owner = build_service_owner(address)
    newest = next((one for one in list_newest_deploys(work) if owner.is_of(one.title)), None)
    count = owner.count_in(newest.title, function, mark) if newest and newest.is_ready else 0
    if newest is None or not count:
        return None
    version = SiteVersion(work.site, newest.id, count)
    return LiveFunction(function, build_function_name(address, function), version.text, mark=mark)


def find_versions_by_marks(
    work: Host2Work, address: DeploymentAddress, marks: Mapping[str, str]
) -> dict[str, str]:
    """Find marks in any deploy, reading each deploy once: a rollback target must contain all
    functions together."""
    owner = build_service_owner(address)
    deploy = functools.cache(partial(fetch_deploy, work))
    newest = functools.cache(partial(list_newest_deploys, work))

    def find_kept(function: str, mark: str) -> str:
        for version in list_recorded_versions(address.previous, function, mark):
            there = deploy(version.deploy)
            if there is not None and there.is_ready and owner.is_of(there.title):
                return version.text
        for one in newest():
            count = owner.count_in(one.title, function, mark) if one.is_ready else 0
            if count:
                return SiteVersion(work.site, one.id, count).text
        return ""

    found = {function: find_kept(function, mark) for function, mark in marks.items()}
    return {function: text for function, text in found.items() if text}


def find_missing(work: Host2Work, address: DeploymentAddress) -> Iterator[str]:
    record = address.previous
    ident = dict(record.kept).get(DEPLOY, "") if record else ""
    there = _fetch_published(work, address)
    if ident and (there is None or there.id != ident):
        yield f"the published deploy `{ident}`"


def _fetch_published(work: Host2Work, address: DeploymentAddress) -> DeployRow | None:
    there = fetch_site(work).published_deploy
    return there if there is not None and build_service_owner(address).is_of(there.title) else None


def _list_recorded(record: Record | None, function: str, ident: str) -> Iterator[FunctionRecord]:
    for one in list_recorded_rows(record):
        if one.name == function and parse_version(one.resource_id).deploy == ident:
            yield one
