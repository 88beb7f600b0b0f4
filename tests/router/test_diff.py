"""What is wanted beside what is there."""

from hypothesis import given
from hypothesis import strategies as some

from fabric.model.routing.routing import RouterPart, RouterResource, RouterVerb
from fabric.router.diff import compute_drift, summarize_actions

_PART = some.builds(
    RouterPart,
    resource=some.sampled_from(RouterResource),
    name=some.sampled_from(["a", "b", "c", "d"]),
    detail=some.sampled_from(["1", "2"]),
    is_ours=some.booleans(),
)
_PARTS = some.lists(_PART, unique_by=lambda part: part.key)
_WANTED = some.lists(
    some.builds(
        RouterPart,
        resource=some.sampled_from(RouterResource),
        name=some.sampled_from(["a", "b", "c", "d"]),
        detail=some.sampled_from(["1", "2"]),
    ),
    unique_by=lambda part: part.key,
)


@given(_WANTED, _PARTS)
def test_applied_changes_are_not_planned_again(
    want: list[RouterPart], have: list[RouterPart]
) -> None:
    drift = compute_drift(want, have)
    foreign = {part.key for part in drift.foreign}
    done = {part.key: part for part in have}
    done.update({part.key: part for part in want if part.key not in foreign})
    again = compute_drift([part for part in want if part.key not in foreign], done.values())
    assert again.changes == ()


@given(_WANTED, _PARTS)
def test_foreign_parts_are_reported_and_never_deleted(
    want: list[RouterPart], have: list[RouterPart]
) -> None:
    drift = compute_drift(want, have)
    wanted = {part.key for part in want}
    theirs = {part.key for part in have if not part.is_ours}
    assert {part.key for part in drift.foreign} == wanted & theirs
    candidates = {
        (one.resource, one.name)
        for one in drift.actions
        if one.action is RouterVerb.DELETE_CANDIDATE
    }
    assert candidates == {part.key for part in have if part.is_ours} - wanted


def test_a_summary_counts_each_kind() -> None:
    record = RouterResource.DNS_RECORD
    want = [RouterPart(record, name, "new") for name in ("a", "b", "c")]
    have = [
        RouterPart(record, "b", "old"),
        RouterPart(record, "c", "new"),
        RouterPart(record, "d", "x"),
    ]
    summary = summarize_actions(compute_drift(want, have).actions)
    assert (summary.create, summary.update, summary.noop, summary.delete_candidate) == (1, 1, 1, 1)
    assert summary.drift_detected
