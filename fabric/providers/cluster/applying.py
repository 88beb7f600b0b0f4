"""Apply objects to the cluster: read the existing objects and apply only differences."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import ConfigSpot, FabricError, Problem, replace_problems
from fabric.providers.cluster.client import (
    ALL_KINDS,
    AUTOSCALERS,
    ClusterSettings,
    ClusterTool,
)
from fabric.providers.cluster.object_settings import INGRESS_SETTINGS
from fabric.providers.cluster.objects import (
    FUNCTION,
    MANAGER,
    KubeObject,
    format_key,
    format_selector,
    group_by_key,
    has_all_fields,
    is_ours,
    read_text_at,
    read_texts_at,
)
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.work import CallScope

if TYPE_CHECKING:
    from fabric.system.registries.push import Registries

_OF_OBJECTS = frozenset(("provider/refused", "provider/conflict"))


class ClusterWork(Struct, frozen=True):
    """One service in its cluster."""

    tool: ClusterTool
    own: ClusterSettings
    scope: CallScope
    # The registries of images, and their logins.
    open_registries: "Callable[[], Registries] | None" = None

    @property
    def address(self) -> DeploymentAddress:
        return self.scope.address

    def there(self) -> dict[str, KubeObject]:
        """Return the existing objects of the service, by `Kind/name`."""
        return group_by_key(one for one in self._list_objects() if self.is_ours(one))

    def _list_objects(self) -> list[KubeObject]:
        """List all kinds of objects. Users without autoscaling need no permission for it."""
        selector = format_selector(self.address)
        try:
            return self.tool.list_objects(selector, ALL_KINDS)
        except FabricError as error:
            if self.own.objects.autoscaling or f"`{AUTOSCALERS}" not in error.first.message:
                raise
        return self.tool.list_objects(selector)

    def is_ours(self, thing: KubeObject) -> bool:
        return is_ours(self.address, thing)


def apply_changes(
    work: ClusterWork, wanted: Sequence[KubeObject], there: Mapping[str, KubeObject]
) -> bool:
    """Apply objects that differ and return whether there were any."""
    by_name = group_by_key(wanted)
    stale = [one for name, one in by_name.items() if not _is_as_wanted(there.get(name), one)]
    if not stale:
        return False
    _refuse_foreign(work, [format_key(one) for one in stale if format_key(one) not in there])
    work.scope.watch.hear(f"applying {_format_counts(stale)}")
    with _attribute_errors(work, stale):
        work.tool.apply(stale, MANAGER, takes_over=work.own.take_over, watch=work.scope.watch)
    return True


@contextlib.contextmanager
def _attribute_errors(work: ClusterWork, things: Sequence[KubeObject]) -> Iterator[None]:
    """Attribute rejections to functions: the cluster reports the name of the rejected object."""
    try:
        yield
    except FabricError as error:
        told = (_attribute_problem(work, things, problem) for problem in error.problems)
        raise replace_problems(error, told) from error


def _attribute_problem(
    work: ClusterWork, things: Sequence[KubeObject], problem: Problem
) -> Problem:
    if problem.code not in _OF_OBJECTS:
        return problem
    named = [one for one in things if _is_named(one, problem.message)]
    functions = sorted({_read_function(one) for one in named or things} - {""})
    if len(functions) != 1:
        whose = f"`{work.address.service}`, {_format_counts(named or things)}"
        return replace(problem, message=f"{whose}: {problem.message}")
    objects = ", ".join(f"`{format_key(one)}`" for one in named or things)
    message = f"function `{functions[0]}`, {objects}: {problem.message}"
    return replace(problem, message=message, about=ConfigSpot(functions[0]))


def _is_named(thing: KubeObject, message: str) -> bool:
    name = read_text_at(thing, "metadata", "name")
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message) is not None


def _read_function(thing: KubeObject) -> str:
    return read_texts_at(thing, "metadata", "labels").get(FUNCTION, "")


def _is_as_wanted(there: KubeObject | None, wanted: KubeObject) -> bool:
    """Return whether an object is up to date. An object that differs only in its API version is the
    same one."""
    own = {name: value for name, value in wanted.items() if name != "apiVersion"}
    settings = [
        read_texts_at(one, "metadata", "annotations").get(INGRESS_SETTINGS)
        for one in (there, wanted)
    ]
    is_equal = settings[0] == settings[1]
    return there is not None and is_equal and _is_kept(there) and has_all_fields(there, own)


def _is_kept(there: KubeObject) -> bool:
    return not read_text_at(there, "metadata", "deletionTimestamp")


def _refuse_foreign(work: ClusterWork, names: Iterable[str]) -> None:
    """Raise if a name is taken by an object of another owner."""
    foreign = [one for one in work.tool.find_named(names) if not work.is_ours(one)]
    if foreign:
        raise FabricError(*(_foreign_object_problem(work, one) for one in foreign))


def _foreign_object_problem(work: ClusterWork, thing: KubeObject) -> Problem:
    address = work.address
    message = (
        f"`{format_key(thing)}` in the namespace `{work.tool.place.namespace}` already exists and "
        f"does not belong to service `{address.service}` in stage `{address.stage}`"
    )
    hint = "rename the function or the service, or use another namespace"
    return Problem("deploy/foreign", message, hint)


def _format_counts(things: Sequence[KubeObject]) -> str:
    kinds = [read_text_at(one, "kind") for one in things]
    return ", ".join(f"{kinds.count(one)} {one}" for one in dict.fromkeys(kinds))
