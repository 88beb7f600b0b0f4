"""The moment that users meet a version: the alias of its function is pointed at it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.providers.cloud1.answers import CONFLICT, GONE
from fabric.providers.cloud1.function_settings import ALIAS, version_in
from fabric.providers.cloud1.side_by_side import side_by_side
from fabric.providers.cloud1.versions import Cloud1Work
from fabric.providers.contract import CallWatch, LiveFunction
from fabric.system.cloud1_account import code_of

_VERSION = "version:"


class CutOver(Struct, frozen=True):
    """`moved` functions are met in another version than before, `fresh` ones for the first time."""

    moved: frozenset[str]
    fresh: frozenset[str]


def cut_over(
    work: Cloud1Work, functions: Sequence[LiveFunction], kept: Mapping[str, str], watch: CallWatch
) -> CutOver:
    """Only what is not as the last release left it is asked for."""
    moved = [one for one in functions if kept.get(_VERSION + one.name) != _version(one)]

    def move(one: LiveFunction) -> bool:
        is_fresh = _point(work, one, is_known=_VERSION + one.name in kept)
        watch.hear(f"{one.name}: alias `{ALIAS}` leads to version {_version(one)}")
        return is_fresh

    made = side_by_side(move, moved)
    fresh = (one.name for one, is_fresh in zip(moved, made, strict=True) if is_fresh)
    return CutOver(frozenset(one.name for one in moved), frozenset(fresh))


def kept_versions(functions: Sequence[LiveFunction]) -> dict[str, str]:
    return {_VERSION + one.name: _version(one) for one in functions}


def _point(work: Cloud1Work, one: LiveFunction, *, is_known: bool) -> bool:
    """Whether the alias had to be made."""
    from botocore.exceptions import ClientError

    asked = {"FunctionName": one.resource_name, "Name": ALIAS, "FunctionVersion": _version(one)}
    ways = (work.functions.update_alias, work.functions.create_alias)
    first, second = ways if is_known else ways[::-1]
    is_made = first is work.functions.create_alias
    try:
        first(**asked)
    except ClientError as error:
        if code_of(error) not in GONE | CONFLICT:
            raise
        second(**asked)
        is_made = not is_made
    return is_made


def _version(one: LiveFunction) -> str:
    return version_in(one.resource_id)
