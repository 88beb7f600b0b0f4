"""The checks before a change: one table for every command that plans, makes or reviews changes."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum

from msgspec import Struct

from fabric.app.checks.access import find_access_problems
from fabric.app.checks.configs import (
    find_lost_addresses,
    find_lost_outputs,
    find_missing_upstreams,
    find_partial_deploys,
    find_stand_ins,
    find_unsupported_functions,
)
from fabric.app.checks.records import (
    find_account_problems,
    find_disabled_removals,
    find_diverted_records,
    find_linked_homes,
    find_location_problems,
    find_missing_destroy_commands,
    find_mode_mismatches,
    find_seal_problems,
    find_shared_targets,
    find_single_functions,
    find_unfinished_adoptions,
    find_unusable_deployers,
    find_unwritten_records,
)
from fabric.app.checks.rollbacks import (
    find_rollback_problems,
    find_unknown_triggers,
    is_rollback_wanted,
)
from fabric.app.project.compiled import Compiled
from fabric.app.records.scope import DeployScope, find_lost_records
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.model.problems import Problem, drop_repeated_problems, raise_if_any
from fabric.model.records.record import RecordRef
from fabric.model.task_inputs import DeployInputs, ReleaseInputs, RemoveInputs
from fabric.system.parallel import MAX_WORKERS


class Use(StrEnum):
    """The commands that read the table."""

    PLAN = "plan"
    DEPLOY = "deploy"
    ROLLBACK = "rollback"
    ADOPT = "adopt"
    REMOVE = "remove"
    DEV = "dev"
    DOCTOR = "doctor"
    VALIDATE = "validate"


class Candidate(Struct, frozen=True, kw_only=True):
    """The services and records that a command is about to change."""

    scope: DeployScope
    # A rollback or a removal compiles nothing.
    work: Compiled | None = None
    # Known for checks that matter only if something changes.
    plan: Plan | None = None
    # The records that change; None means all.
    refs: frozenset[RecordRef] | None = None
    # The functions that a removal is limited to.
    functions: frozenset[str] = frozenset()
    # The rollback option of the command line; None if it is not given.
    rollback: bool | None = None
    # How many records are read at the same time.
    at_once: int = MAX_WORKERS


class Check(Struct, frozen=True, kw_only=True):
    """A check: the commands that it refuses, and the commands that it warns.

    With `needs_changes` it matters only for records that change.
    """

    name: str
    find: Callable[[Candidate], Iterable[Problem]]
    refuses: frozenset[Use]
    warns: frozenset[Use] = frozenset()
    needs_changes: bool = False

    def is_read_by(self, use: Use) -> bool:
        return use in self.refuses or use in self.warns


class FoundProblems(Struct, frozen=True):
    """The problems of a command, in the order of the table."""

    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def all(self) -> tuple[Problem, ...]:
        return drop_repeated_problems((*self.errors, *self.warnings))


def find_problems(use: Use, one: Candidate) -> FoundProblems:
    """Find problems before anything is planned, built or locked.

    If there are any, missing credentials are reported with them, for all records.
    """
    found = _run_checks(use, one, needs_changes=False)
    if not found.all or not _ACCESS.is_read_by(use):
        return found
    more = find_access_problems(one.scope, one.scope.placements)
    return FoundProblems(found.errors, (*found.warnings, *more))


def find_change_problems(use: Use, one: Candidate) -> FoundProblems:
    """Find problems that matter only for the records that change."""
    return _run_checks(use, one, needs_changes=True)


def _run_checks(use: Use, one: Candidate, *, needs_changes: bool) -> FoundProblems:
    errors: list[Problem] = []
    warnings: list[Problem] = []
    for check in list_checks(use):
        if check.needs_changes is needs_changes:
            (errors if use in check.refuses else warnings).extend(check.find(one))
    return FoundProblems(tuple(errors), tuple(warnings))


def require(use: Use, one: Candidate) -> None:
    """Raise everything that forbids a command, before anything is planned, built or locked."""
    _raise(find_problems(use, one).all)


def require_changes(use: Use, one: Candidate) -> None:
    """Raise everything that forbids a change to these records."""
    _raise(find_change_problems(use, one).all)


def require_all(use: Use, one: Candidate) -> None:
    """Raise both together, for commands whose changes are known from the start."""
    early = _run_checks(use, one, needs_changes=False)
    _raise((*early.all, *find_change_problems(use, one).all))


def _raise(problems: Iterable[Problem]) -> None:
    raise_if_any(drop_repeated_problems(problems))


def list_checks(use: Use) -> Iterator[Check]:
    return (check for check in DEPLOY_CHECKS if check.is_read_by(use))


def list_changing_refs(plan: Plan) -> frozenset[RecordRef]:
    return frozenset(
        RecordRef(task.inputs.service, task.inputs.stage, task.inputs.provider)
        for task, decision in zip(plan.graph.tasks, plan.decisions, strict=True)
        if decision.action is not Action.SKIP
        and isinstance(task.inputs, DeployInputs | ReleaseInputs | RemoveInputs)
    )


def _check_access(one: Candidate) -> Iterable[Problem]:
    return find_access_problems(one.scope, one.scope.placements if one.refs is None else one.refs)


def _check_upstreams(one: Candidate) -> Iterable[Problem]:
    return find_missing_upstreams(one.work.graph, one.scope) if one.work else ()


def _check_outputs(one: Candidate) -> Iterable[Problem]:
    return find_lost_outputs(one.plan, one.scope) if one.plan else ()


def _check_addresses(one: Candidate) -> Iterable[Problem]:
    return find_lost_addresses(one.work, one.scope) if one.work else ()


def _check_partial_deploys(one: Candidate) -> Iterable[Problem]:
    return find_partial_deploys(one.work, one.scope) if one.work else ()


def _check_rollback(one: Candidate) -> Iterable[Problem]:
    """Configs are read only if a rollback would not be possible."""
    problems = tuple(find_rollback_problems(one.scope, one.plan)) if one.plan else ()
    return problems if problems and is_rollback_wanted(one.scope, one.rollback) else ()


_CHANGES = frozenset({Use.DEPLOY, Use.ROLLBACK, Use.ADOPT})
_REVIEWS = frozenset({Use.PLAN, Use.DOCTOR})
_PLAN = frozenset({Use.PLAN})
_REMOVE = frozenset({Use.REMOVE})
_COMPILED = frozenset({Use.DEPLOY, Use.DOCTOR})

_ACCESS = Check(
    name="access",
    find=_check_access,
    refuses=_CHANGES | {Use.REMOVE, Use.DEV},
    warns=_PLAN,
    needs_changes=True,
)

# `doctor` reports more than `deployer`, `lost-state`, `unwritten-state`, `diverted-traffic` and
# `access` say, by checks of its own.
DEPLOY_CHECKS: tuple[Check, ...] = (
    Check(
        name="state-key",
        find=lambda one: find_seal_problems(one.scope),
        refuses=_CHANGES | _REVIEWS,
    ),
    Check(
        name="lost-state",
        find=lambda one: find_lost_records(one.scope, one.at_once),
        refuses=_CHANGES | _PLAN,
    ),
    Check(
        name="upstreams",
        find=_check_upstreams,
        refuses=_COMPILED,
        warns=_PLAN,
    ),
    Check(
        name="upstream-outputs",
        find=_check_outputs,
        refuses=frozenset({Use.DEPLOY}),
        warns=_PLAN,
        needs_changes=True,
    ),
    Check(
        name="upstream-addresses",
        find=_check_addresses,
        refuses=_COMPILED,
        warns=_PLAN,
    ),
    Check(
        name="place",
        find=lambda one: find_location_problems(one.scope),
        refuses=_CHANGES | _REVIEWS | {Use.DEV},
    ),
    Check(
        name="shared-place",
        find=lambda one: find_shared_targets(one.scope),
        refuses=_CHANGES | _REVIEWS,
    ),
    Check(
        name="config",
        find=lambda one: find_unsupported_functions(one.scope),
        refuses=_REVIEWS | {Use.DEPLOY, Use.VALIDATE},
    ),
    Check(
        name="stand-ins",
        find=lambda one: find_stand_ins(one.scope),
        refuses=frozenset({Use.DEPLOY, Use.DOCTOR}),
        warns=_PLAN,
    ),
    Check(
        name="whole-service",
        find=_check_partial_deploys,
        refuses=_COMPILED,
        warns=_PLAN,
    ),
    Check(
        name="deployer",
        find=lambda one: find_unusable_deployers(one.scope),
        refuses=_CHANGES,
        warns=_PLAN,
    ),
    Check(
        name="removal-switch",
        find=lambda one: find_disabled_removals(one.scope, one.refs),
        refuses=_REMOVE,
    ),
    Check(
        name="mode",
        find=lambda one: find_mode_mismatches(one.scope),
        refuses=_CHANGES | {Use.DEV, Use.DOCTOR},
        warns=_PLAN,
    ),
    Check(
        name="links",
        find=lambda one: find_linked_homes(one.scope),
        refuses=_CHANGES | {Use.DOCTOR},
        warns=_PLAN,
    ),
    Check(
        name="unwritten-state",
        find=lambda one: find_unwritten_records(one.scope),
        refuses=_CHANGES | _REMOVE,
        warns=_PLAN,
    ),
    Check(
        name="unfinished-adoption",
        find=lambda one: find_unfinished_adoptions(one.scope),
        refuses=_REVIEWS | {Use.DEPLOY, Use.ROLLBACK},
    ),
    Check(
        name="destroy-command",
        find=lambda one: find_missing_destroy_commands(one.scope, one.refs),
        refuses=_REMOVE,
    ),
    Check(
        name="diverted-traffic",
        find=lambda one: find_diverted_records(one.scope),
        refuses=_CHANGES | {Use.REMOVE, Use.DEV},
        warns=_PLAN,
    ),
    Check(
        name="single-functions",
        find=lambda one: find_single_functions(one.scope, one.functions),
        refuses=_REMOVE,
    ),
    Check(
        name="account",
        find=lambda one: find_account_problems(one.scope),
        refuses=_REMOVE,
    ),
    _ACCESS,
    Check(
        name="trigger-secrets",
        find=lambda one: find_unknown_triggers(one.scope, one.plan) if one.plan else (),
        refuses=frozenset({Use.DEPLOY}),
        warns=_PLAN,
        needs_changes=True,
    ),
    Check(
        name="rollback",
        find=_check_rollback,
        refuses=frozenset({Use.DEPLOY}),
        warns=_PLAN,
        needs_changes=True,
    ),
)
