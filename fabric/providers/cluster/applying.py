"""Objects on their way to be as wanted: what is there is looked at, what differs is applied."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.names import MANAGER, is_ours, selector
from fabric.providers.cluster.objects import KubeObject, by_key, includes, key_of, text_at
from fabric.providers.cluster.settings import ClusterSettings
from fabric.providers.cluster.tool import ClusterTool
from fabric.providers.contract import CallWatch, DeploymentAddress
from fabric.providers.waiting import Waiting


class ClusterWork(Struct, frozen=True):
    """One service in its cluster."""

    tool: ClusterTool
    own: ClusterSettings
    address: DeploymentAddress
    waiting: Waiting
    watch: CallWatch

    def there(self) -> dict[str, KubeObject]:
        """All that is ours of the service, by `Kind/name`."""
        return by_key(one for one in self.tool.listed(selector(self.address)) if self.is_ours(one))

    def is_ours(self, thing: KubeObject) -> bool:
        return is_ours(self.address, thing)


def brought_up(
    work: ClusterWork, wanted: Sequence[KubeObject], there: Mapping[str, KubeObject]
) -> bool:
    """Whether anything had to be applied."""
    by_name = by_key(wanted)
    stale = [one for name, one in by_name.items() if not _is_as_wanted(there.get(name), one)]
    if not stale:
        return False
    _refuse_foreign(work, [key_of(one) for one in stale if key_of(one) not in there])
    work.watch.hear(f"applying {_counted(stale)}")
    work.tool.apply(stale, MANAGER, takes_over=work.own.take_over, watch=work.watch)
    return True


def _is_as_wanted(there: KubeObject | None, wanted: KubeObject) -> bool:
    """A resource that only moved to another version of the API is the same one."""
    own = {name: value for name, value in wanted.items() if name != "apiVersion"}
    return there is not None and _is_kept(there) and includes(there, own)


def _is_kept(there: KubeObject) -> bool:
    return not text_at(there, "metadata", "deletionTimestamp")


def _refuse_foreign(work: ClusterWork, names: Iterable[str]) -> None:
    """A name that is taken by somebody else stays theirs."""
    foreign = [one for one in work.tool.named(names) if not work.is_ours(one)]
    if foreign:
        raise FabricError(*(_foreign(work, one) for one in foreign))


def _foreign(work: ClusterWork, thing: KubeObject) -> Problem:
    address = work.address
    message = (
        f"`{key_of(thing)}` in the namespace `{work.tool.place.namespace}` is not of service "
        f"`{address.service}` in stage `{address.stage}`, and would be in its place"
    )
    hint = "rename the function or the service, or take a namespace of its own"
    return Problem("deploy/foreign", message, hint)


def _counted(things: Sequence[KubeObject]) -> str:
    kinds = [text_at(one, "kind") for one in things]
    return ", ".join(f"{kinds.count(one)} {one}" for one in dict.fromkeys(kinds))
