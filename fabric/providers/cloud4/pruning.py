"""Delete versions that no rollback can need."""

from collections.abc import Iterator

from fabric.providers.cloud4.kept import MET_VERSION
from fabric.providers.cloud4.own_settings import NOT_MARKED, version_in
from fabric.providers.cloud4.versions import aliases_of, delete_version, versions_of
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.kept_texts import kept_texts


def pruned(work: Cloud4Work, address: DeploymentAddress, live: LiveFunction) -> None:
    """Delete stale versions, including those of runs without a release. Versions of other owners
    and of their aliases stay."""
    named = frozenset(_named(address, live))
    stale = [
        one.version_id
        for one in versions_of(work, live.resource_name)
        if one.mark != NOT_MARKED and one.version_id not in named
    ]
    if not stale:
        return
    met = {version for one in aliases_of(work, live.resource_name) for version in one.versions}
    going = [one for one in stale if one not in met]
    for version in going:
        delete_version(work, live.resource_name, version)
    if going:
        work.watch.hear(f"{live.name}: deleted {len(going)} old versions")


def _named(address: DeploymentAddress, live: LiveFunction) -> Iterator[str]:
    """Yield versions with current or previous traffic, and the rollback targets of records."""
    yield version_in(live.resource_id).version
    yield version_in(kept_texts(address).texts.get(MET_VERSION + live.name, "")).version
    record = address.previous
    if record is not None:
        rows = (*record.functions, *(one for past in record.history for one in past.functions))
        yield from (version_in(one.resource_id).version for one in rows if one.name == live.name)
