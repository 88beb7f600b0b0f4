"""What is kept of a name's past, and which of it is gone back to."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fabric.model.outcomes.routed import DriftRow, RoutedShare, SyncEntry
from fabric.model.problems import FabricError
from fabric.model.routing.routing import Weights
from fabric.router.history import (
    KEPT,
    choose_restored_weights,
    compute_trend,
    select_applied,
    with_newest,
)

_NOTHING = DriftRow(0, 0, 0, 0, drift_detected=False)


def entry(number: int, spare: int, *, dry_run: bool = False, before: int = 0) -> SyncEntry:
    return SyncEntry(
        f"dev-{number}",
        "dns-shift",
        "command",
        dry_run,
        "2026-01-01T00:00:00.000Z",
        _shares(before) if before else (),
        (),
        _shares(spare),
        _NOTHING,
    )


def _shares(spare: int) -> tuple[RoutedShare, ...]:
    rows = (("main", 100 - spare), ("spare", spare))
    return tuple(RoutedShare(label, f"https://{label}.example", weight) for label, weight in rows)


def now(spare: int) -> Weights:
    return (("main", 100 - spare), ("spare", spare))


@given(some.lists(some.booleans(), max_size=80))
def test_dry_runs_give_way_before_anything_that_was_applied(kinds: list[bool]) -> None:
    entries: tuple[SyncEntry, ...] = ()
    for number, dry_run in enumerate(kinds):
        entries = with_newest(entries, entry(number, 10, dry_run=dry_run))
    assert len(entries) == min(KEPT, len(kinds))
    if kinds:
        assert entries[0].id == f"dev-{len(kinds) - 1}"
    done = [number for number, dry_run in enumerate(kinds) if not dry_run]
    room = KEPT - (1 if kinds and kinds[-1] else 0)
    assert [one.id for one in select_applied(entries)] == [
        f"dev-{one}" for one in done[-room:][::-1]
    ]


def test_rollback_restores_the_newest_applied_weights_that_differ() -> None:
    entries = [entry(3, 80, dry_run=True), entry(2, 30), entry(1, 70)]
    assert choose_restored_weights(entries, now(30)) == ("dev-1", now(70))
    assert choose_restored_weights(entries, now(99)) == ("dev-2", now(30))
    assert choose_restored_weights(entries, now(30), "dev-2") == ("dev-2", now(30))


def test_rollback_of_the_first_change_restores_the_initial_weights() -> None:
    assert choose_restored_weights([entry(1, 70, before=50)], now(70)) == ("dev-1", now(50))


@pytest.mark.parametrize(
    ("entries", "snapshot", "code"),
    [
        ([], "", "router/no-history"),
        ([entry(1, 70, dry_run=True)], "", "router/no-history"),
        ([entry(1, 70)], "", "router/nothing-to-restore"),
        ([entry(1, 70)], "dev-9", "router/unknown-snapshot"),
        ([entry(1, 10, dry_run=True)], "dev-1", "router/unknown-snapshot"),
    ],
)
def test_missing_rollback_target_is_reported(
    entries: list[SyncEntry], snapshot: str, code: str
) -> None:
    with pytest.raises(FabricError) as caught:
        choose_restored_weights(entries, now(70), snapshot)
    assert caught.value.first.code == code


def test_trend_lists_applied_weights_oldest_first() -> None:
    entries = [entry(3, 80, dry_run=True), entry(2, 30), entry(1, 70)]
    assert [point.weights["spare"] for point in compute_trend(entries)] == [70, 30]
