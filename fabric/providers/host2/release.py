"""Release on Netlify: publish the prepared deploy with everything in it."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from fabric.model.outcomes.json_struct import JsonObject
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
from fabric.providers.host2.client import (
    ServiceOwner,
    build_service_owner,
    is_of_nobody,
    list_recorded_versions,
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
)
from fabric.providers.host2.making import await_deploy, require_own_site

SITE, DEPLOY = "site", "deploy"
ONE_DEPLOY = "a site shows one"


def release_service(
    work: Host2Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    functions = list_deployed(functions)
    ident = require_one_version(address, functions, "deploy", ONE_DEPLOY)
    # Whatever was noted: somebody may have published another one on the page of the site.
    site = require_own_site(work, build_service_owner(address))
    endpoint = site.endpoint
    if site.published_deploy is None or site.published_deploy.ident != ident:
        publish_deploy(work, ident)
        work.watch.hear(f"the deploy {ident} receives all traffic at {endpoint}")
    outputs = build_outputs(endpoint, functions, partial(build_function_name, address))
    left = {SITE: work.site, DEPLOY: ident}
    return Released(endpoint, outputs, tuple(left.items()))


_NOTHING: JsonObject = {"files": {}, "functions": {}, "draft": True}


def delete_service(
    work: Host2Work, address: DeploymentAddress, _functions: Sequence[LiveFunction]
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
        await_deploy(work, row)
        publish_deploy(work, row.ident)
        work.watch.hear(
            f"the site {site.endpoint} was not deleted; it shows the empty deploy {row.ident}"
        )
    elif not is_of_nobody(there.title):
        work.watch.hear(
            f"the site shows the deploy {there.ident}, which does not belong to {owner.name}"
        )


def _delete(work: Host2Work, one: DeployRow) -> None:
    with work.convert_errors(f"the deploy {one.ident}"):
        delete_deploy(work, one.ident)


def find_active_version(
    work: Host2Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the version that receives traffic. Its functions come from state, because a deploy does
    not list them."""
    there = _fetch_published(work, address)
    return find_recorded_function(address, function, there.ident) if there else None


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
    version = WholeVersion(work.site, newest.ident, count)
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
            there = deploy(version.ident)
            if there is not None and there.is_ready and owner.is_of(there.title):
                return version.text
        for one in newest():
            count = owner.count_in(one.title, function, mark) if one.is_ready else 0
            if count:
                return WholeVersion(work.site, one.ident, count).text
        return ""

    found = {function: find_kept(function, mark) for function, mark in marks.items()}
    return {function: text for function, text in found.items() if text}


def find_missing(work: Host2Work, address: DeploymentAddress) -> Iterator[str]:
    record = address.previous
    ident = dict(record.kept).get(DEPLOY, "") if record else ""
    there = _fetch_published(work, address)
    if ident and (there is None or there.ident != ident):
        yield f"the published deploy `{ident}`"


def _fetch_published(work: Host2Work, address: DeploymentAddress) -> DeployRow | None:
    there = fetch_site(work).published_deploy
    return there if there is not None and build_service_owner(address).is_of(there.title) else None
