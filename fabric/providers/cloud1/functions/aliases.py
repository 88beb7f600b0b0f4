"""Point the aliases of functions at new versions, which switches traffic to them."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fabric.model.records.record import RELEASE_UNCERTAIN
from fabric.providers.cloud1.core.client import CONFLICT, GONE, MAX_PARALLEL, convert_client_errors
from fabric.providers.cloud1.core.versions import ALIAS, Cloud1Work, describe_function, read_version
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.retry import run_parallel
from fabric.system.cloud1_account import read_error_code

_VERSION, _MARK = "version:", "mark:"


class CutOver(Struct, frozen=True):
    """The result of switching aliases. `moved` functions changed their version; `fresh` functions
    receive traffic for the first time."""

    moved: frozenset[str]
    fresh: frozenset[str]


def _fetch_alias_version(work: Cloud1Work, one: LiveFunction) -> str:
    found = describe_function(work, one.resource_name, ALIAS)
    return "" if found is None else str(found["Configuration"]["Version"])


def format_kept_versions(functions: Sequence[LiveFunction]) -> dict[str, str]:
    versions = {_VERSION + one.name: read_live_version(one) for one in functions}
    return {**versions, **{_MARK + one.name: one.mark for one in functions}}


def read_kept_version(texts: Mapping[str, str], name: str) -> str:
    return texts.get(_VERSION + name, "")


def _point_alias(work: Cloud1Work, one: LiveFunction, *, is_known: bool) -> bool:
    """Point an alias and return whether it was created. After a lost response it counts as
    created."""
    from botocore.exceptions import ClientError

    asked = {
        "FunctionName": one.resource_name,
        "Name": ALIAS,
        "FunctionVersion": read_live_version(one),
    }
    ways = (work.functions.update_alias, work.functions.create_alias)
    first, second = ways if is_known else ways[::-1]
    try:
        first(**asked)
    except ClientError as error:
        if read_error_code(error) not in GONE | CONFLICT:
            raise
        second(**asked)
        return True
    return not is_known


def read_live_version(one: LiveFunction) -> str:
    return read_version(one.resource_id)


class StoredReleaseState(Struct, frozen=True):
    """The stored values of the last release. Names always identify resources; they describe the
    current state only if `is_sure` is true."""

    texts: Mapping[str, str]
    is_sure: bool = True
    salt: str = ""

    def sure(self, name: str) -> str:
        return self.texts.get(name, "") if self.is_sure else ""

    def of_functions(self, names: Iterable[str]) -> dict[str, str]:
        """Return all stored values of these functions."""
        ends = tuple(f":{name}" for name in names)
        return {name: text for name, text in self.texts.items() if name.endswith(ends)}


def cut_over(
    work: Cloud1Work, functions: Sequence[LiveFunction], kept: StoredReleaseState
) -> CutOver:
    """Update the aliases that differ from the last release."""
    known = read_alias_versions(work, functions, kept)
    moved = [one for one in functions if not _is_alias_current(one, known, kept)]

    def move(one: LiveFunction) -> bool:
        with (
            attach_error_spot(one.name),
            convert_client_errors(f"function `{one.name}`", work.scope.quoted),
        ):
            is_fresh = _point_alias(work, one, is_known=one.name in known)
        work.scope.watch.hear(
            f"{one.name}: alias `{ALIAS}` now points to version {read_live_version(one)}"
        )
        return is_fresh

    made = run_parallel(move, moved, MAX_PARALLEL)
    fresh = (one.name for one, is_fresh in zip(moved, made, strict=True) if is_fresh)
    return CutOver(frozenset(one.name for one in moved), frozenset(fresh))


def _is_alias_current(
    one: LiveFunction, known: Mapping[str, str], kept: StoredReleaseState
) -> bool:
    """Return whether the alias points at this version. A re-created function counts versions from 1
    again, so marks are compared too."""
    is_same = not kept.is_sure or kept.texts.get(_MARK + one.name) == one.mark
    return is_same and known.get(one.name) == read_live_version(one)


def read_alias_versions(
    work: Cloud1Work, functions: Sequence[LiveFunction], kept: StoredReleaseState
) -> dict[str, str]:
    """Return the version of each existing alias, from state or from the API call with the highest
    rate limit."""
    if kept.is_sure:
        found = [read_kept_version(kept.texts, one.name) for one in functions]
    else:
        found = run_parallel(lambda one: _fetch_alias_version(work, one), functions, MAX_PARALLEL)
    return {one.name: text for one, text in zip(functions, found, strict=True) if text}


def read_kept_state(address: DeploymentAddress) -> StoredReleaseState:
    record = address.previous
    if record is None:
        return StoredReleaseState({})
    texts = {name: text for name, text in record.kept if name != RELEASE_UNCERTAIN[0]}
    return StoredReleaseState(texts, RELEASE_UNCERTAIN not in record.kept, record.salt)
