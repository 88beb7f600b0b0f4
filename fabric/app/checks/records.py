"""Find records that this run could not change or remove, because of their place, mode or state."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from fabric.app.project.modes import choose_mode
from fabric.app.records.scope import DeployScope, mode_mismatch_problem
from fabric.app.settings import Settings
from fabric.graph.compile import is_whole_service_deploy
from fabric.model.catalog import find_provider_facts, format_provider_title
from fabric.model.problems import FabricError, Problem
from fabric.model.records.adoptions import find_unfinished_adoption
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.switches import is_on
from fabric.providers.core.contract import AccountBound, Deployer, RegionBound, SingleServiceTarget
from fabric.state.dev_journal import find_diversion_problem
from fabric.state.records.unsure import find_unwritten_problem
from fabric.system.files.disk import link_problem

_CREDENTIALS = "credentials/missing"


def find_seal_problems(scope: DeployScope) -> Sequence[Problem]:
    try:
        scope.kept_values.require()
    except FabricError as error:
        return error.problems
    return ()


def find_unusable_deployers(scope: DeployScope) -> Iterator[Problem]:
    """Check that fabric can deploy in this mode: with a built-in deployer, a command or a role."""
    for ref, placement in sorted(scope.placements.items()):
        if placement.mode != Mode.SIMULATED:
            try:
                scope.tools.deployers.deployer(ref, Mode(placement.mode))
            except FabricError as error:
                # Credentials are checked for what changes: without a change nothing is called.
                found = (each for each in error.problems if each.code != _CREDENTIALS)
                yield from (each.of(ref.service) for each in found)


def find_mode_mismatches(scope: DeployScope) -> Iterator[Problem]:
    """Find records of real deploys while this run would only simulate."""
    for ref, placement in sorted(scope.placements.items()):
        problem = mode_mismatch_problem(placement, scope.record(ref))
        if problem is not None:
            yield problem.of(ref.service)


def find_unfinished_adoptions(scope: DeployScope) -> Iterator[Problem]:
    """Find records whose adoption failed or was interrupted."""
    for ref in sorted(scope.placements):
        problem = find_unfinished_adoption(scope.record(ref))
        if problem is not None:
            yield problem.of(ref.service)


def find_unwritten_records(scope: DeployScope) -> Iterator[Problem]:
    return _find_home_problems(scope, find_unwritten_problem)


def find_diverted_records(scope: DeployScope) -> Iterator[Problem]:
    return _find_home_problems(scope, find_diversion_problem)


def find_linked_homes(scope: DeployScope) -> Iterator[Problem]:
    return _find_home_problems(scope, lambda home, _: link_problem(home))


def _find_home_problems(
    scope: DeployScope, find: Callable[..., Problem | None]
) -> Iterator[Problem]:
    for ref in sorted(scope.placements):
        problem = find(scope.transaction.record_store(ref).home, ref)
        if problem is not None:
            yield problem.of(ref.service)


def find_location_problems(scope: DeployScope) -> Iterator[Problem]:
    """Find account and region mismatches, for commands that change resources."""
    for ref, record, deployer in _list_real_records(scope):
        said = _check_account(deployer, record)
        if said is None and isinstance(deployer, RegionBound):
            address = scope.tools.deployers.address(ref)
            said = deployer.find_region_problem(replace(address, previous=record))
        if said is not None:
            yield said


def find_account_problems(scope: DeployScope) -> Iterator[Problem]:
    """Find account mismatches, for a removal. It determines the region itself."""
    found = (_check_account(deployer, record) for _, record, deployer in _list_real_records(scope))
    return (said for said in found if said is not None)


def _check_account(deployer: Deployer, record: Record) -> Problem | None:
    return deployer.elsewhere(record) if isinstance(deployer, AccountBound) else None


def _list_real_records(scope: DeployScope) -> Iterator[tuple[RecordRef, Record, Deployer]]:
    for ref, placement in sorted(scope.placements.items()):
        if placement.mode == Mode.REAL:
            yield from _list_record_deployers(scope, ref)


def _list_record_deployers(
    scope: DeployScope, ref: RecordRef
) -> Iterator[tuple[RecordRef, Record, Deployer]]:
    record = scope.record(ref)
    if record is None or record.mode is not Mode.REAL:
        return
    deployer = scope.find_real_deployer(ref)
    if deployer is not None:
        yield ref, record, deployer


def find_shared_targets(scope: DeployScope) -> Iterator[Problem]:
    """Find services that share a target which can hold only one service."""
    tenants: dict[tuple[str, str], list[str]] = {}
    for ref, placement in sorted(scope.placements.items()):
        place = _find_single_target(scope, ref) if placement.mode == Mode.REAL else ""
        if place:
            tenants.setdefault((placement.provider_id, place), []).append(ref.service)
    for (provider_id, place), services in sorted(tenants.items()):
        if len(services) > 1:
            names = ", ".join(f"`{one}`" for one in services)
            message = (
                f"{names} would share {place} on "
                f"{format_provider_title(provider_id)}, which can contain only one service"
            )
            hint = "set a different one for each of them, in a `.env` file beside its config"
            yield Problem("deploy/shared-place", message, hint)


def _find_single_target(scope: DeployScope, ref: RecordRef) -> str:
    deployer = scope.find_real_deployer(ref)
    if deployer is None or not isinstance(deployer, SingleServiceTarget):
        return ""
    return deployer.sole_place


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
