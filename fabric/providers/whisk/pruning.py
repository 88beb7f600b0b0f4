"""Delete versions that no rollback can need."""

from collections.abc import Iterator, Sequence

from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.errors import ignore_missing
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.retry import run_parallel
from fabric.providers.whisk.actions import list_versions
from fabric.providers.whisk.packages import fetch_own_package
from fabric.providers.whisk.release_state import MET_NOW
from fabric.providers.whisk.resource_names import format_action_owner, package_name, read_version
from fabric.providers.whisk.work import WhiskWork


def prune_versions(
    work: WhiskWork, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete stale versions, including those of runs without a release. A deleted function loses
    all its versions."""
    named = frozenset(_list_needed_versions(address, functions))
    package = fetch_own_package(work, address)
    stale = [
        one.name
        for function in functions
        for one in (
            list_versions(package, format_action_owner(address, function.name)) if package else ()
        )
        if one.name not in named
    ]
    run_parallel(lambda name: delete_action(work, package_name(address), name), stale)
    if stale:
        work.watch.hear(f"{address.service}: deleted {len(stale)} old versions")


def _list_needed_versions(
    address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Iterator[str]:
    """Yield versions with current or previous traffic, and the rollback targets of records."""
    yield from (read_version(one.resource_id) for one in functions)
    texts = read_kept_texts(address).texts
    yield from (text.partition(" ")[0] for name, text in texts.items() if name.startswith(MET_NOW))
    record = address.previous
    if record is not None:
        rows = (*record.functions, *(one for past in record.history for one in past.functions))
        yield from (read_version(one.resource_id) for one in rows)


def delete_action(work: WhiskWork, package: str, name: str) -> None:
    with ignore_missing():
        work.ask(ProviderCall("DELETE", f"/actions/{package}/{name}"), object)
