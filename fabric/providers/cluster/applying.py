"""Apply objects to the cluster: read the existing objects and apply only differences."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import ConfigSpot, FabricError, Problem, retold
from fabric.providers.cluster.names import FUNCTION, MANAGER, is_ours, selector
from fabric.providers.cluster.objects import (
    KubeObject,
    by_key,
    includes,
    key_of,
    text_at,
    texts_at,
)
from fabric.providers.cluster.settings import ClusterSettings
from fabric.providers.cluster.tool import ClusterTool
from fabric.providers.contract import CallWatch, DeploymentAddress
from fabric.providers.waiting import Waiting

_OF_OBJECTS = frozenset(("provider/refused", "provider/conflict"))


class ClusterWork(Struct, frozen=True):
    """One service in its cluster."""

    tool: ClusterTool
    own: ClusterSettings
    address: DeploymentAddress
    waiting: Waiting
    watch: CallWatch

    def there(self) -> dict[str, KubeObject]:
        """Return the existing objects of the service, by `Kind/name`."""
        return by_key(one for one in self.tool.listed(selector(self.address)) if self.is_ours(one))

    def is_ours(self, thing: KubeObject) -> bool:
        return is_ours(self.address, thing)


def brought_up(
    work: ClusterWork, wanted: Sequence[KubeObject], there: Mapping[str, KubeObject]
) -> bool:
    """Apply objects that differ and return whether there were any."""
    by_name = by_key(wanted)
    stale = [one for name, one in by_name.items() if not _is_as_wanted(there.get(name), one)]
    if not stale:
        return False
    _refuse_foreign(work, [key_of(one) for one in stale if key_of(one) not in there])
    work.watch.hear(f"applying {_counted(stale)}")
    with _telling_of(work, stale):
        work.tool.apply(stale, MANAGER, takes_over=work.own.take_over, watch=work.watch)
    return True


@contextlib.contextmanager
def _telling_of(work: ClusterWork, things: Sequence[KubeObject]) -> Iterator[None]:
    """Attribute rejections to functions: the cluster reports the name of the rejected object."""
    try:
        yield
    except FabricError as error:
        told = (_told(work, things, problem) for problem in error.problems)
        raise retold(error, told) from error


def _told(work: ClusterWork, things: Sequence[KubeObject], problem: Problem) -> Problem:
    if problem.code not in _OF_OBJECTS:
        return problem
    named = [one for one in things if _is_named(one, problem.message)]
    functions = sorted({_function(one) for one in named or things} - {""})
    if len(functions) != 1:
        whose = f"`{work.address.service}`, {_counted(named or things)}"
        return replace(problem, message=f"{whose}: {problem.message}")
    objects = ", ".join(f"`{key_of(one)}`" for one in named or things)
    message = f"function `{functions[0]}`, {objects}: {problem.message}"
    return replace(problem, message=message, about=ConfigSpot(functions[0]))


def _is_named(thing: KubeObject, message: str) -> bool:
    name = text_at(thing, "metadata", "name")
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message) is not None


def _function(thing: KubeObject) -> str:
    return texts_at(thing, "metadata", "labels").get(FUNCTION, "")


def _is_as_wanted(there: KubeObject | None, wanted: KubeObject) -> bool:
    """Return whether an object is up to date. An object that differs only in its API version is the
    same one."""
    own = {name: value for name, value in wanted.items() if name != "apiVersion"}
    return there is not None and _is_kept(there) and includes(there, own)


def _is_kept(there: KubeObject) -> bool:
    return not text_at(there, "metadata", "deletionTimestamp")


def _refuse_foreign(work: ClusterWork, names: Iterable[str]) -> None:
    """Raise if a name is taken by an object of another owner."""
    foreign = [one for one in work.tool.named(names) if not work.is_ours(one)]
    if foreign:
        raise FabricError(*(_foreign(work, one) for one in foreign))


def _foreign(work: ClusterWork, thing: KubeObject) -> Problem:
    address = work.address
    message = (
        f"`{key_of(thing)}` in the namespace `{work.tool.place.namespace}` already exists and "
        f"does not belong to service `{address.service}` in stage `{address.stage}`"
    )
    hint = "rename the function or the service, or use another namespace"
    return Problem("deploy/foreign", message, hint)


def _counted(things: Sequence[KubeObject]) -> str:
    kinds = [text_at(one, "kind") for one in things]
    return ", ".join(f"{kinds.count(one)} {one}" for one in dict.fromkeys(kinds))
