"""The deployed state of a service on Netlify, as deploy titles show it."""

import functools
from collections.abc import Iterator, Mapping
from functools import partial

from fabric.model.records.record import FunctionRecord, Record
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.host2.deploys import (
    DeployRow,
    Host2Work,
    fetch_deploy,
    fetch_site,
    list_newest_deploys,
)
from fabric.providers.host2.noted import list_recorded_rows, list_recorded_versions
from fabric.providers.host2.release_state import DEPLOY
from fabric.providers.host2.resource_names import (
    SiteVersion,
    build_function_name,
    build_service_owner,
    parse_version,
)


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
