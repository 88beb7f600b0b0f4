"""Delete versions that no rollback can need."""

from collections.abc import Iterator

from fabric.providers.cloud4.release_state import MET_VERSION
from fabric.providers.cloud4.settings import NOT_MARKED, parse_version
from fabric.providers.cloud4.versions import delete_version, list_aliases, list_versions
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.release_state import read_kept_texts


def prune_versions(work: Cloud4Work, address: DeploymentAddress, live: LiveFunction) -> None:
    """Delete stale versions, including those of runs without a release. Versions of other owners
    and of their aliases stay."""
    named = frozenset(_list_needed_versions(address, live))
    stale = [
        one.version_id
        for one in list_versions(work, live.resource_name)
        if one.mark != NOT_MARKED and one.version_id not in named
    ]
    if not stale:
        return
    met = {version for one in list_aliases(work, live.resource_name) for version in one.versions}
    going = [one for one in stale if one not in met]
    for version in going:
        delete_version(work, live.resource_name, version)
    if going:
        work.watch.hear(f"{live.name}: deleted {len(going)} old versions")


def _list_needed_versions(address: DeploymentAddress, live: LiveFunction) -> Iterator[str]:
    """Yield versions with current or previous traffic, and the rollback targets of records."""
    yield parse_version(live.resource_id).version
    yield parse_version(read_kept_texts(address).texts.get(MET_VERSION + live.name, "")).version
    record = address.previous
    if record is not None:
        rows = (*record.functions, *(one for past in record.history for one in past.functions))
        yield from (parse_version(one.resource_id).version for one in rows if one.name == live.name)
