"""Find removals that this machine or this environment cannot complete."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fabric.app.project.modes import choose_mode
from fabric.app.records.scope import DeployScope, mode_mismatch_problem
from fabric.app.settings import Settings
from fabric.graph.compile import is_whole_service_deploy
from fabric.model.catalog import find_provider_facts, format_provider_title
from fabric.model.problems import Problem
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.switches import is_on


def find_disabled_removals(
    scope: DeployScope, refs: Iterable[RecordRef] | None
) -> Iterator[Problem]:
    """Find records of real deploys that this environment would not really delete."""
    for record in list_records(scope, refs):
        mode = choose_mode(record.provider_id, scope.settings.env)
        placement = replace(scope.placements[record.ref], mode=mode)
        problem = _not_enabled_problem(record, scope.settings)
        problem = problem or mode_mismatch_problem(placement, record)
        if problem is not None:
            yield problem.of(record.ref.service)


def find_missing_destroy_commands(
    scope: DeployScope, refs: Iterable[RecordRef] | None
) -> Iterator[Problem]:
    for record in list_records(scope, refs):
        problem = _no_command_problem(record, scope.settings)
        if problem is not None:
            yield problem.of(record.ref.service)


def find_single_functions(scope: DeployScope, names: frozenset[str]) -> Iterator[Problem]:
    """Find services that can only be removed as a whole, when single functions are named."""
    for record in list_records(scope, None):
        problem = _single_function_problem(record, names)
        if problem is not None:
            yield problem.of(record.ref.service)


def list_records(scope: DeployScope, refs: Iterable[RecordRef] | None) -> Iterator[Record]:
    """List the records of these services, or of all, in a fixed order."""
    for ref in sorted(scope.placements if refs is None else refs):
        record = scope.record(ref)
        if record is not None:
            yield record


def _not_enabled_problem(record: Record, settings: Settings) -> Problem | None:
    """Require this cloud's own switch for deletion. The switch for all providers is not
    sufficient."""
    facts = find_provider_facts(record.provider_id)
    if record.mode is Mode.SIMULATED or facts is None or not facts.traits.deletes_by_own_switch:
        return None
    if is_on(facts.real_deploy_variable, settings.env):
        return None
    return Problem(
        "remove/not-enabled",
        f"refusing to delete `{record.ref.service}` ({record.ref.stage}) from "
        f"{format_provider_title(record.provider_id)}: {facts.real_deploy_variable} is not set",
        hint=f"set {facts.real_deploy_variable}=1 to delete it",
    )


def _no_command_problem(record: Record, settings: Settings) -> Problem | None:
    facts = find_provider_facts(record.provider_id)
    if record.mode is not Mode.COMMAND or facts is None:
        return None
    if settings.env.get(facts.destroy_command_variable):
        return None
    return Problem(
        "remove/no-destroy-command",
        f"`{record.ref.service}` ({record.ref.stage}) was deployed by a custom command, but "
        f"{facts.destroy_command_variable} is not set",
        hint=f"set {facts.destroy_command_variable} to the command that removes it",
    )


def _single_function_problem(record: Record, names: frozenset[str]) -> Problem | None:
    if not names or not is_whole_service_deploy(record.provider_id, record.mode):
        return None
    return Problem(
        "remove/whole-service",
        f"cannot remove single functions of {record.ref.title}: it is deployed as one unit",
        hint="remove the function from the config, then run: fabric deploy",
    )
