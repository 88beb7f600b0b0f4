"""Compare desired and existing routing: required changes and conflicts."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from fabric.model.outcomes.routed import DriftRow
from fabric.model.problems import Problem
from fabric.model.routing.routing import CHANGING, RouterAction, RouterPart, RouterVerb


class Drift(Struct, frozen=True):
    """The difference."""

    actions: tuple[RouterAction, ...]
    # Resources of other owners in the places of ours.
    foreign: tuple[RouterPart, ...] = ()

    @property
    def changes(self) -> tuple[RouterAction, ...]:
        return tuple(one for one in self.actions if one.changes)


def compute_drift(want: Sequence[RouterPart], have: Iterable[RouterPart]) -> Drift:
    """Compute the actions in dependency order, then the unused resources.

    Foreign resources outside our names are ignored. One with the same name as ours conflicts, even
    beside ours.
    """
    found = tuple(have)
    there = {one.key: one for one in found if one.is_ours}
    wanted = {one.key for one in want}
    foreign = [one for one in found if not one.is_ours and one.key in wanted]
    actions = [_choose_action(one, there.get(one.key)) for one in want]
    left = sorted(
        (one for one in there.values() if one.key not in wanted),
        key=lambda one: one.key,
    )
    actions += [_build_action(one, RouterVerb.DELETE_CANDIDATE, one.ident) for one in left]
    return Drift(tuple(actions), tuple(foreign))


def _choose_action(wanted: RouterPart, there: RouterPart | None) -> RouterAction:
    if there is None:
        return _build_action(wanted, RouterVerb.CREATE)
    verb = RouterVerb.NO_OP if there.detail == wanted.detail else RouterVerb.UPDATE
    return _build_action(wanted, verb, there.ident)


def _build_action(one: RouterPart, verb: RouterVerb, ident: str = "") -> RouterAction:
    return RouterAction(one.resource, verb, one.name, one.detail, ident or one.ident)


def summarize_actions(actions: Iterable[RouterAction]) -> DriftRow:
    verbs = [one.action for one in actions]
    return DriftRow(
        verbs.count(RouterVerb.CREATE),
        verbs.count(RouterVerb.UPDATE),
        verbs.count(RouterVerb.NO_OP),
        verbs.count(RouterVerb.DELETE_CANDIDATE),
        drift_detected=any(verb is not RouterVerb.NO_OP for verb in verbs),
    )


def foreign_problem(part: RouterPart) -> Problem:
    return Problem(
        "router/foreign",
        f"the {part.resource} `{part.name}` already exists and does not belong to this router: "
        f"{part.detail}",
        hint="delete it manually, or choose another `hostname` below `extensions.router`; "
        "nothing was changed",
    )


def list_forbidden_verbs(policy: str) -> tuple[RouterVerb, ...]:
    """List the actions that `mutationPolicy` forbids."""
    if policy == "additive":
        return (RouterVerb.UPDATE,)
    return CHANGING if policy == "none" else ()
