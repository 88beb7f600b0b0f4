"""Attributes of functions that no version has: tags and reserved concurrency.

They affect active versions immediately, so a release sets them. A function without traffic gets
them in its deploy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.task import Pairs
from fabric.providers.cloud1.core.client import MAX_PARALLEL, convert_client_errors
from fabric.providers.cloud1.core.versions import (
    Cloud1Work,
    build_ownership_tags,
    describe_function,
    strip_arn_version,
)
from fabric.providers.cloud1.functions.aliases import (
    StoredReleaseState,
    read_kept_state,
    read_kept_version,
)
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.retry import run_parallel

_BESIDE = "beside:"
_DIGEST = 16


class FunctionBeside(Struct, frozen=True):
    function: str
    tags: Pairs = ()
    reserved: int | None = None

    def all_tags(self, address: DeploymentAddress) -> dict[str, str]:
        """Return the tags including the ownership tags."""
        return {
            **dict(self.tags),
            **build_ownership_tags(address),
            "fabric:function": self.function,
        }

    @property
    def digest(self) -> str:
        parts = (part for pair in sorted(self.tags) for part in pair)
        return hash_fields((str(self.reserved), *parts))[:_DIGEST]


def read_attributes(one: FunctionOrder | LiveFunction) -> FunctionBeside:
    return FunctionBeside(one.name, one.tags, one.reserved_concurrency)


def has_known_traffic(address: DeploymentAddress, function: str) -> bool:
    """Return whether the function receives traffic, according to state."""
    return bool(read_kept_version(read_kept_state(address).texts, function))


def release_attributes(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    kept: StoredReleaseState,
) -> dict[str, str]:
    """Update changed attributes and return the values to store. Attributes known from the last
    release are not read again."""
    wanted = {one.name: read_attributes(one) for one in functions}
    stale = [one for one in functions if _is_stale(wanted[one.name], kept)]

    def release(one: LiveFunction) -> None:
        with (
            attach_error_spot(one.name),
            convert_client_errors(f"function `{one.name}`", work.scope.quoted),
        ):
            found = describe_function(work, one.resource_name)
            if found is not None:
                update_attributes(work, address, wanted[one.name], found)

    run_parallel(release, stale, MAX_PARALLEL)
    return {_BESIDE + name: one.digest for name, one in wanted.items()}


def _is_stale(wanted: FunctionBeside, kept: StoredReleaseState) -> bool:
    if kept.is_sure and not read_kept_version(kept.texts, wanted.function):
        return False  # its deploy has set it just now
    return kept.sure(_BESIDE + wanted.function) != wanted.digest


def update_attributes(
    work: Cloud1Work,
    address: DeploymentAddress,
    wanted: FunctionBeside,
    found: Mapping[str, Any],
) -> None:
    """Update the attributes of one function. `found` is the provider's description of it."""
    functions, arn = work.functions, strip_arn_version(found["Configuration"]["FunctionArn"])
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
