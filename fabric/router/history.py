"""The history of a hostname's routing: bounded, and used for rollbacks."""

from collections.abc import Iterable, Sequence

from fabric.model.outcomes.routed import RoutedShare, SyncEntry, TrendPoint
from fabric.model.problems import FabricError, Problem
from fabric.model.routing.routing import Weights
from fabric.model.text.spelling import suggest_spelling

KEPT = 30


def with_newest(entries: Sequence[SyncEntry], entry: SyncEntry) -> tuple[SyncEntry, ...]:
    """Add an entry. Dry runs are dropped before applied entries, so that many of them cost no
    rollback target."""
    found = [entry, *entries]
    while len(found) > KEPT:
        dry = [place for place, one in enumerate(found) if one.dry_run and place]
        found.pop(dry[-1] if dry else -1)
    return tuple(found)


def select_applied(entries: Iterable[SyncEntry]) -> tuple[SyncEntry, ...]:
    return tuple(one for one in entries if not one.dry_run)


def find_last_applied(entries: Iterable[SyncEntry]) -> SyncEntry | None:
    return next(iter(select_applied(entries)), None)


def list_former_names(entries: Iterable[SyncEntry], hostname: str) -> tuple[str, ...]:
    """List the hostnames that were routed before this one, newest first."""
    names = dict.fromkeys(one.hostname for one in select_applied(entries) if one.hostname)
    return tuple(name for name in names if name != hostname)


def read_weights(shares: Iterable[RoutedShare]) -> Weights:
    return tuple((one.label, one.weight) for one in shares)


def choose_restored_weights(
    entries: Sequence[SyncEntry], now: Weights, snapshot: str = ""
) -> tuple[str, Weights]:
    """Return the weights of this snapshot, otherwise of the newest applied one with different
    weights. Its id is returned too."""
    done = select_applied(entries)
    if snapshot:
        return snapshot, read_weights(_require_snapshot(entries, snapshot).after)
    if not done:
        message = "no applied change to restore"
        hint = "run: fabric router dns-history"
        raise FabricError(Problem("router/no-history", message, hint))
    for one in done:
        if one.after and dict(read_weights(one.after)) != dict(now):
            return one.id, read_weights(one.after)
    first = done[-1]
    if first.before and dict(read_weights(first.before)) != dict(now):
        return first.id, read_weights(first.before)
    message = "no applied snapshot differs from the current weights: nothing to restore"
    raise FabricError(Problem("router/nothing-to-restore", message))


def _require_snapshot(entries: Sequence[SyncEntry], snapshot: str) -> SyncEntry:
    found = next((one for one in entries if one.id == snapshot), None)
    if found is not None and not found.dry_run:
        return found
    known = [one.id for one in select_applied(entries)]
    why = "is a dry run that was not applied" if found else "is not in the history"
    hint = suggest_spelling(snapshot, known) or "run: fabric router dns-history"
    raise FabricError(Problem("router/unknown-snapshot", f"the snapshot `{snapshot}` {why}", hint))


def compute_trend(entries: Sequence[SyncEntry]) -> tuple[TrendPoint, ...]:
    """Return the applied entries as points, oldest first."""
    return tuple(
        TrendPoint(one.id, one.operation, one.created_at, dict(read_weights(one.after)))
        for one in reversed(select_applied(entries))
    )
