"""Delete versions that no rollback can need, because stored code costs money.

Versions are not listed: their numbers only grow, and a release stores the known ones. A change of a
function costs an extra call only if a version is deleted.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.providers.cloud1.aliases import CutOver, read_kept_version, read_live_version
from fabric.providers.cloud1.answers import GONE, ignore_codes
from fabric.providers.cloud1.clients import MAX_PARALLEL
from fabric.providers.cloud1.function_settings import read_version
from fabric.providers.cloud1.release_state import StoredReleaseState
from fabric.providers.cloud1.versions import Cloud1Work, list_versions
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.retry import run_parallel

_KEPT = "versions:"
# More than that between two releases, and the provider is asked.
_MANY = 50


class _Pruning(Struct, frozen=True):
    work: Cloud1Work
    named: frozenset[tuple[str, str]]
    kept: StoredReleaseState
    fresh: frozenset[str]


def prune_versions(
    work: Cloud1Work,
    asked: tuple[DeploymentAddress, Sequence[LiveFunction], CutOver],
    kept: StoredReleaseState,
) -> dict[str, str]:
    """Delete stale versions and return the remaining version numbers to store."""
    address, functions, cut = asked
    named = frozenset(_list_needed_versions(address, functions, kept))
    pruning = _Pruning(work, named, kept, cut.fresh)
    moved = [one for one in functions if one.name in cut.moved]
    left = run_parallel(lambda one: _prune_function(pruning, one), moved, MAX_PARALLEL)
    new = {
        _KEPT + one.name: " ".join(map(str, numbers))
        for one, numbers in zip(moved, left, strict=True)
    }
    old = {_KEPT + one.name: kept.texts.get(_KEPT + one.name, "") for one in functions}
    return {name: text for name, text in {**old, **new}.items() if text}


def _list_needed_versions(
    address: DeploymentAddress, functions: Sequence[LiveFunction], kept: StoredReleaseState
) -> Iterator[tuple[str, str]]:
    """Yield versions with traffic, and rollback targets of records."""
    yield from ((one.name, read_live_version(one)) for one in functions)
    yield from (
        (name, read_kept_version(kept.texts, name)) for name in (one.name for one in functions)
    )
    record = address.previous
    if record is not None:
        rows = (*record.functions, *(one for past in record.history for one in past.functions))
        yield from ((one.name, read_version(one.resource_id)) for one in rows)


def _prune_function(pruning: _Pruning, one: LiveFunction) -> list[int]:
    there = _list_known_versions(pruning, one)
    stale = [number for number in there if (one.name, str(number)) not in pruning.named]
    gone = {number for number in stale if _try_delete(pruning, one, number)}
    return sorted(there - gone)


def _list_known_versions(pruning: _Pruning, one: LiveFunction) -> set[int]:
    """List existing versions, including those of runs without a release."""
    newest = int(read_live_version(one))
    known = {int(text) for text in pruning.kept.texts.get(_KEPT + one.name, "").split()}
    if newest == 1 or newest in known:
        return known | {newest}
    if known and max(known) < newest <= max(known) + _MANY:
        return known | set(range(max(known) + 1, newest + 1))
    return {int(row["Version"]) for row in list_versions(pruning.work, one.resource_name)}


def _try_delete(pruning: _Pruning, one: LiveFunction, number: int) -> bool:
    """Delete a version. A failure does not fail the release: it is reported and retried later."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        with ignore_codes(GONE):
            pruning.work.functions.delete_function(
                FunctionName=one.resource_name, Qualifier=str(number)
            )
    except (ClientError, BotoCoreError) as error:
        pruning.work.watch.hear(f"{one.name}: version {number} could not be deleted: {error}")
        return False
    pruning.work.watch.hear(f"{one.name}: deleted unused version {number}")
    return True
