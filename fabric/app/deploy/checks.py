"""The checks before a deploy: one table, read by `plan`, `deploy`, `rollback` and `doctor`."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.access import find_access_problems
from fabric.app.deploy.location_checks import find_location_problems
from fabric.app.deploy.preview import find_missing_upstreams
from fabric.app.deploy.scope import DeployScope, find_lost_records, mode_mismatch_problem
from fabric.app.deploy.unsupported_settings import find_unsupported_functions
from fabric.app.project.compiled import Compiled
from fabric.app.project.compose_files import NOT_OURS
from fabric.graph.decide import Action
from fabric.graph.judge import find_dropped_functions
from fabric.graph.plan import Plan
from fabric.model.catalog import DeployUnit, find_provider_facts, format_provider_title
from fabric.model.problems import FabricError, Problem, drop_repeated_problems
from fabric.model.records.record import Mode, RecordRef
from fabric.model.task_inputs import DeployInputs, ReleaseInputs, RemoveInputs
from fabric.providers.core.contract import SingleServiceTarget
from fabric.state.dev_journal import find_diversion_problem
from fabric.state.records.unwritten import find_unwritten_problem
from fabric.system.disk import link_problem
from fabric.system.parallel import MAX_WORKERS
from fabric.tasks.deploy import get_record_ref

_OF_UPSTREAMS = re.compile(r"SERVICE_\w+_URL|FABRIC_OUTPUT_\w+_ENDPOINT")
_CODE = "deploy/whole-service"


def _find_shared_targets(scope: DeployScope) -> Iterator[Problem]:
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
    try:
        deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
    except FabricError:  # nobody deploys there, which is told beside
        return ""
    return deployer.sole_place if isinstance(deployer, SingleServiceTarget) else ""


_CREDENTIALS = "credentials/missing"


class DeployCandidate(Struct, frozen=True):
    """The services of a deploy or rollback. A rollback has no compiled `work`."""

    scope: DeployScope
    work: Compiled | None = None
    # How many records are read at the same time.
    at_once: int = MAX_WORKERS


class DeployCheck(Struct, frozen=True):
    """A check before a deploy. With `stops_plan` a failure prevents a plan; otherwise it is a plan
    warning."""

    name: str
    find: Callable[[DeployCandidate], Iterable[Problem]]
    stops_plan: bool = False


class FoundProblems(Struct, frozen=True):
    """All reasons to refuse a deploy, in the order of the checks."""

    stopping: tuple[Problem, ...] = ()
    other: tuple[Problem, ...] = ()

    @property
    def all(self) -> tuple[Problem, ...]:
        return drop_repeated_problems((*self.stopping, *self.other))


def find_early_problems(one: DeployCandidate) -> FoundProblems:
    """Find problems before anything is planned, built or locked."""
    stopping: list[Problem] = []
    other: list[Problem] = []
    for check in DEPLOY_CHECKS:
        (stopping if check.stops_plan else other).extend(check.find(one))
    if stopping or other:
        other += find_access_problems(one.scope, one.scope.placements)
    return FoundProblems(tuple(stopping), tuple(other))


def find_change_problems(scope: DeployScope, plan: Plan) -> tuple[Problem, ...]:
    """Find problems that matter only if something changes: missing credentials and packages."""
    return tuple(find_access_problems(scope, list_changing_refs(plan)))


def require_deployable(one: DeployCandidate) -> None:
    """Raises all that forbids a run, before anything is built or locked."""
    found = find_early_problems(one).all
    if found:
        raise FabricError(*found)


def require_access(scope: DeployScope, plan: Plan) -> None:
    require_access_to(scope, list_changing_refs(plan))


def require_access_to(scope: DeployScope, refs: Iterable[RecordRef]) -> None:
    found = drop_repeated_problems(find_access_problems(scope, refs))
    if found:
        raise FabricError(*found)


def list_changing_refs(plan: Plan) -> frozenset[RecordRef]:
    return frozenset(
        RecordRef(task.inputs.service, task.inputs.stage, task.inputs.provider)
        for task, decision in zip(plan.graph.tasks, plan.decisions, strict=True)
        if decision.action is not Action.SKIP
        and isinstance(task.inputs, DeployInputs | ReleaseInputs | RemoveInputs)
    )


def _check_state_key(one: DeployCandidate) -> Sequence[Problem]:
    try:
        one.scope.kept_values.require()
    except FabricError as error:
        return error.problems
    return ()


def _check_lost_records(one: DeployCandidate) -> Sequence[Problem]:
    return find_lost_records(one.scope, one.at_once)


def _check_upstreams(one: DeployCandidate) -> Iterable[Problem]:
    return find_missing_upstreams(one.work.graph, one.scope) if one.work else ()


def _check_addresses(one: DeployCandidate) -> Iterable[Problem]:
    return _find_lost_addresses(one.work, one.scope) if one.work else ()


def _check_supported_settings(one: DeployCandidate) -> Iterable[Problem]:
    return find_unsupported_functions(one.scope) if one.work else ()


def _check_partial_deploys(one: DeployCandidate) -> Iterable[Problem]:
    return _find_partial_deploys(one.work, one.scope) if one.work else ()


def _check_deployers(one: DeployCandidate) -> Iterator[Problem]:
    """Check that fabric can deploy in this mode: with a built-in deployer, a command or a role."""
    for ref, placement in sorted(one.scope.placements.items()):
        if placement.mode != Mode.SIMULATED:
            try:
                one.scope.tools.deployers.deployer(ref, Mode(placement.mode))
            except FabricError as error:
                # Credentials are checked for what changes: without a change nothing is called.
                found = (each for each in error.problems if each.code != _CREDENTIALS)
                yield from (each.of(ref.service) for each in found)


def _check_modes(one: DeployCandidate) -> Iterator[Problem]:
    for ref, placement in sorted(one.scope.placements.items()):
        problem = mode_mismatch_problem(placement, one.scope.record(ref))
        if problem is not None:
            yield problem.of(ref.service)


def _check_unwritten_records(one: DeployCandidate) -> Iterator[Problem]:
    return _find_home_problems(one.scope, find_unwritten_problem)


def _check_diversions(one: DeployCandidate) -> Iterator[Problem]:
    return _find_home_problems(one.scope, find_diversion_problem)


def _check_links(one: DeployCandidate) -> Iterator[Problem]:
    return _find_home_problems(one.scope, lambda home, _: link_problem(home))


def _find_home_problems(
    scope: DeployScope, find: Callable[..., Problem | None]
) -> Iterator[Problem]:
    for ref in sorted(scope.placements):
        problem = find(scope.transaction.record_store(ref).home, ref)
        if problem is not None:
            yield problem.of(ref.service)


DEPLOY_CHECKS: tuple[DeployCheck, ...] = (
    DeployCheck("state-key", _check_state_key, stops_plan=True),
    DeployCheck("lost-state", _check_lost_records, stops_plan=True),
    DeployCheck("upstreams", _check_upstreams),
    DeployCheck("upstream-addresses", _check_addresses),
    DeployCheck("place", lambda one: find_location_problems(one.scope), stops_plan=True),
    DeployCheck("shared-place", lambda one: _find_shared_targets(one.scope), stops_plan=True),
    DeployCheck("config", _check_supported_settings, stops_plan=True),
    DeployCheck("whole-service", _check_partial_deploys),
    DeployCheck("deployer", _check_deployers),
    DeployCheck("mode", _check_modes),
    DeployCheck("links", _check_links),
    DeployCheck("unwritten-state", _check_unwritten_records),
    DeployCheck("diverted-traffic", _check_diversions),
)


def _find_lost_addresses(work: Compiled, scope: DeployScope) -> Iterator[Problem]:
    """Find variables that functions would lose only because a compose file is ignored."""
    passed_over = next((one for one in work.info.warnings if one.code == NOT_OURS), None)
    if passed_over is None:
        return
    for inputs in work.graph.inputs_of("deploy"):
        names = (
            sorted(_list_lost_variables(inputs, scope)) if isinstance(inputs, DeployInputs) else []
        )
        if names:
            message = f"`{inputs.service}` would lose {', '.join(names)}: {passed_over.message}"
            yield replace(passed_over, message=message, service=inputs.service)


def _list_lost_variables(inputs: DeployInputs, scope: DeployScope) -> Iterator[str]:
    record = scope.record(get_record_ref(inputs))
    for name, _, env in inputs.functions:
        live = record.function(name) if record else None
        wanted = {variable for variable, _ in env}
        for variable, _ in live.environment if live else ():
            if variable not in wanted and _OF_UPSTREAMS.fullmatch(variable):
                yield variable


def _find_partial_deploys(work: Compiled, scope: DeployScope) -> Iterator[Problem]:
    for inputs in work.graph.inputs_of("deploy"):
        if isinstance(inputs, DeployInputs) and inputs.mode == Mode.REAL:
            facts = find_provider_facts(dict(inputs.place)["provider-id"])
            if facts is not None and facts.is_one_version and inputs.others:
                yield _partial_deploy_problem(inputs).of(inputs.service)
            elif facts is not None and facts.unit is DeployUnit.SERVICE and work.is_part:
                yield from (
                    one.of(inputs.service) for one in _find_dropped_functions(inputs, scope)
                )


def _partial_deploy_problem(inputs: DeployInputs) -> Problem:
    message = (
        f"cannot deploy only {_format_function_names(inputs)} of `{inputs.service}`: "
        f"{format_provider_title(inputs.provider)} deploys all functions of a service together"
    )
    hint = "omit --function: unchanged functions are not uploaded again"
    return Problem(_CODE, message, hint)


def _find_dropped_functions(inputs: DeployInputs, scope: DeployScope) -> Iterator[Problem]:
    """Find functions that this deploy would delete although only others were named."""
    record = scope.record(RecordRef(inputs.service, inputs.stage, inputs.provider))
    dropped = find_dropped_functions(record, inputs) if record else ()
    if dropped:
        names = ", ".join(f"`{name}`" for name in dropped)
        message = (
            f"refusing to deploy {_format_function_names(inputs)}: this would also delete "
            f"{names}, no longer in the config of `{inputs.service}`"
        )
        yield Problem(_CODE, message, "omit --function to deploy all configured functions")


def _format_function_names(inputs: DeployInputs) -> str:
    return ", ".join(f"`{one[0]}`" for one in inputs.functions)
