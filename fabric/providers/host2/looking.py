"""The deployed state of a service on Netlify, as deploy titles show it."""

import functools
from collections.abc import Iterator, Mapping
from functools import partial

from fabric.model.records.record import FunctionRecord, Record
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.host2.deploys import (
    DeployRow,
    Host2Work,
    deploy_of,
    newest_deploys,
    site_of,
)
from fabric.providers.host2.kept import DEPLOY
from fabric.providers.host2.noted import noted_rows, noted_versions
from fabric.providers.host2.own_settings import SiteVersion, function_name, owner_of, version_in


def met(work: Host2Work, address: DeploymentAddress, function: str) -> LiveFunction | None:
    """Find the version that receives traffic. Its functions come from state, because a deploy does
    not list them."""
    there = _shown(work, address)
    known = next(_noted(address.previous, function, there.id), None) if there else None
    if known is None:
        return None
    return LiveFunction(
        function,
        function_name(address, function),
        known.resource_id,
        artifact_sha256=known.artifact_sha256,
    )


def found(
    work: Host2Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic."""
    if mark:
        return made_under(work, address, function, mark)
    return met(work, address, function)


def made_under(
    work: Host2Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Search only the newest deploy: a function in an older one was deployed together with
    others."""
    owner = owner_of(address)
    newest = next((one for one in newest_deploys(work) if owner.is_of(one.title)), None)
    count = owner.count_in(newest.title, function, mark) if newest and newest.is_ready else 0
    if newest is None or not count:
        return None
    version = SiteVersion(work.site, newest.id, count)
    return LiveFunction(function, function_name(address, function), version.text, mark=mark)


def kept_under(
    work: Host2Work, address: DeploymentAddress, marks: Mapping[str, str]
) -> dict[str, str]:
    """Find marks in any deploy, reading each deploy once: a rollback target must contain all
    functions together."""
    owner = owner_of(address)
    deploy = functools.cache(partial(deploy_of, work))
    newest = functools.cache(partial(newest_deploys, work))

    def kept(function: str, mark: str) -> str:
        for version in noted_versions(address.previous, function, mark):
            there = deploy(version.deploy)
            if there is not None and there.is_ready and owner.is_of(there.title):
                return version.text
        for one in newest():
            count = owner.count_in(one.title, function, mark) if one.is_ready else 0
            if count:
                return SiteVersion(work.site, one.id, count).text
        return ""

    found = {function: kept(function, mark) for function, mark in marks.items()}
    return {function: text for function, text in found.items() if text}


def lost(work: Host2Work, address: DeploymentAddress) -> Iterator[str]:
    record = address.previous
    ident = dict(record.kept).get(DEPLOY, "") if record else ""
    there = _shown(work, address)
    if ident and (there is None or there.id != ident):
        yield f"the published deploy `{ident}`"


def _shown(work: Host2Work, address: DeploymentAddress) -> DeployRow | None:
    there = site_of(work).published_deploy
    return there if there is not None and owner_of(address).is_of(there.title) else None


def _noted(record: Record | None, function: str, ident: str) -> Iterator[FunctionRecord]:
    for one in noted_rows(record):
        if one.name == function and version_in(one.resource_id).deploy == ident:
            yield one
