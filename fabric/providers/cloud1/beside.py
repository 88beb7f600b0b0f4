"""Attributes of functions that no version has: tags and reserved concurrency.

They affect active versions immediately, so a release sets them. A function without traffic gets
them in its deploy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.hashing import digest_fields
from fabric.model.task import Pairs
from fabric.providers.cloud1.aliases import kept_version
from fabric.providers.cloud1.answers import explained
from fabric.providers.cloud1.clients import AT_ONCE
from fabric.providers.cloud1.function_settings import function_of, own_tags
from fabric.providers.cloud1.kept import KeptState, kept_in
from fabric.providers.cloud1.versions import Cloud1Work, described
from fabric.providers.concerning import concerning
from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.side_by_side import side_by_side

_BESIDE = "beside:"
_DIGEST = 16


class FunctionBeside(Struct, frozen=True):
    function: str
    tags: Pairs = ()
    reserved: int | None = None

    def all_tags(self, address: DeploymentAddress) -> dict[str, str]:
        """Return the tags including the ownership tags."""
        return {**dict(self.tags), **own_tags(address), "fabric:function": self.function}

    @property
    def digest(self) -> str:
        parts = (part for pair in sorted(self.tags) for part in pair)
        return digest_fields((str(self.reserved), *parts))[:_DIGEST]


def beside_of(one: FunctionOrder | LiveFunction) -> FunctionBeside:
    return FunctionBeside(one.name, one.tags, one.reserved_concurrency)


def is_met(address: DeploymentAddress, function: str) -> bool:
    """Return whether the function receives traffic, according to state."""
    return bool(kept_version(kept_in(address).texts, function))


def released_beside(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    kept: KeptState,
) -> dict[str, str]:
    """Update changed attributes and return the values to store. Attributes known from the last
    release are not read again."""
    wanted = {one.name: beside_of(one) for one in functions}
    stale = [one for one in functions if _is_stale(wanted[one.name], kept)]

    def release(one: LiveFunction) -> None:
        with concerning(one.name), explained(f"function `{one.name}`", work.quoted):
            found = described(work, one.resource_name)
            if found is not None:
                set_beside(work, address, wanted[one.name], found)

    side_by_side(release, stale, AT_ONCE)
    return {_BESIDE + name: one.digest for name, one in wanted.items()}


def _is_stale(wanted: FunctionBeside, kept: KeptState) -> bool:
    if kept.is_sure and not kept_version(kept.texts, wanted.function):
        return False  # its deploy has set it just now
    return kept.sure(_BESIDE + wanted.function) != wanted.digest


def set_beside(
    work: Cloud1Work,
    address: DeploymentAddress,
    wanted: FunctionBeside,
    found: Mapping[str, Any],
) -> None:
    """Update the attributes of one function. `found` is the provider's description of it."""
    functions, arn = work.functions, function_of(found["Configuration"]["FunctionArn"])
    tags, there = wanted.all_tags(address), found.get("Tags") or {}
    new = {name: text for name, text in tags.items() if there.get(name) != text}
    old = [name for name in there if name not in tags and not name.startswith("aws:")]
    if new:
        functions.tag_resource(Resource=arn, Tags=new)
    if old:
        functions.untag_resource(Resource=arn, TagKeys=old)
    share = (found.get("Concurrency") or {}).get("ReservedConcurrentExecutions")
    set_share(work, arn, share, wanted.reserved)


def set_share(work: Cloud1Work, name: str, there: int | None, wanted: int | None) -> None:
    if wanted == there:
        return
    if wanted is None:
        work.functions.delete_function_concurrency(FunctionName=name)
    else:
        work.functions.put_function_concurrency(
            FunctionName=name, ReservedConcurrentExecutions=wanted
        )
