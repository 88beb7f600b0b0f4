"""What users meet of a service at host2, as far as its one deploy tells."""

from collections.abc import Iterator

from fabric.model.records.record import FunctionRecord, Record
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.host2.deploys import DeployRow, Host2Work, site_of
from fabric.providers.host2.kept import DEPLOY
from fabric.providers.host2.own_settings import deploy_in, function_name, owner_of, version_id


def met(work: Host2Work, address: DeploymentAddress, function: str) -> LiveFunction | None:
    """host2 tells the deploy and not its functions: those are what the record has noted of it."""
    there = _shown(work, address)
    if there is None:
        return None
    known = next(_noted(address.previous, function, there.id), None)
    if known is None and address.previous is not None:
        return None
    return LiveFunction(
        function,
        function_name(address, function),
        version_id(work.site, there.id),
        artifact_sha256=known.artifact_sha256 if known else "",
        triggers=known.triggers if known else (),
    )


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
    if record is None:
        return
    rows = (record.functions, *(past.functions for past in record.history))
    for one in (one for functions in rows for one in functions):
        if one.name == function and deploy_in(one.resource_id) == ident:
            yield one
