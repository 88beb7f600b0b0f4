"""Delete versions that no rollback can need."""

from collections.abc import Iterator, Sequence

from fabric.providers.contract import DeploymentAddress, LiveFunction
from fabric.providers.http_calls import ProviderCall
from fabric.providers.kept_texts import kept_texts
from fabric.providers.refused_calls import unless_gone
from fabric.providers.side_by_side import side_by_side
from fabric.providers.whisk.actions import versions_of
from fabric.providers.whisk.kept import MET_NOW
from fabric.providers.whisk.own_names import action_owner, package_name, version_in
from fabric.providers.whisk.packages import own_package
from fabric.providers.whisk.work import WhiskWork


def pruned(work: WhiskWork, address: DeploymentAddress, functions: Sequence[LiveFunction]) -> None:
    """Delete stale versions, including those of runs without a release. A deleted function loses
    all its versions."""
    named = frozenset(_named(address, functions))
    package = own_package(work, address)
    stale = [
        one.name
        for function in functions
        for one in (versions_of(package, action_owner(address, function.name)) if package else ())
        if one.name not in named
    ]
    side_by_side(lambda name: delete_action(work, package_name(address), name), stale)
    if stale:
        work.watch.hear(f"{address.service}: deleted {len(stale)} old versions")


def _named(address: DeploymentAddress, functions: Sequence[LiveFunction]) -> Iterator[str]:
    """Yield versions with current or previous traffic, and the rollback targets of records."""
    yield from (version_in(one.resource_id) for one in functions)
    texts = kept_texts(address).texts
    yield from (text.partition(" ")[0] for name, text in texts.items() if name.startswith(MET_NOW))
    record = address.previous
    if record is not None:
        rows = (*record.functions, *(one for past in record.history for one in past.functions))
        yield from (version_in(one.resource_id) for one in rows)


def delete_action(work: WhiskWork, package: str, name: str) -> None:
    with unless_gone():
        work.ask(ProviderCall("DELETE", f"/actions/{package}/{name}"), object)
