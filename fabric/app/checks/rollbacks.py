"""Check, before the first API call, that a rollback after a failure would be possible."""

from collections.abc import Iterator, Mapping

from fabric.app.records.scope import DeployScope
from fabric.app.settings import Settings
from fabric.config.values import Config
from fabric.graph.compile import is_whole_service_deploy
from fabric.graph.decide import Action
from fabric.graph.judge import hash_environment
from fabric.graph.past_values import KnownValues, recover_past_values
from fabric.graph.plan import Plan
from fabric.model.late_values import format_placeholder
from fabric.model.problems import Problem
from fabric.model.records.record import Record, RecordRef
from fabric.model.secrets.secret import Secret
from fabric.model.secrets.state_key import STATE_KEY_VARIABLE
from fabric.model.switches import is_on
from fabric.model.task import Pairs
from fabric.model.task_inputs import DeployInputs, RemoveInputs
from fabric.state.records.archives import find_missing_archives
from fabric.tasks.deploy_tools import get_record_ref
from fabric.tasks.past_environment import PastFunction, has_kept_versions
from fabric.tasks.release import find_triggers, has_hidden_triggers, unknown_trigger_problem

_ROLLBACK_VARIABLE = "FABRIC_ROLLBACK_ON_FAILURE"
_KEEPS = f"set {STATE_KEY_VARIABLE} to store the values of later deploys"
_DEPLOY_TOO = "deploy this function too, or omit --function"
_GO_ON = "or use --no-rollback-on-failure"
# By function, the digests of what a run would give it; None where it would take it away.
_Changes = dict[str, Pairs | None]


def is_rollback_enabled(said: bool | None, config: Config, settings: Settings) -> bool:
    """Return the rollback setting: flag, then config, then environment variable."""
    if said is not None:
        return said
    if config.deploy.rollback_on_failure is not None:
        return config.deploy.rollback_on_failure
    return is_on(_ROLLBACK_VARIABLE, settings.env)


def find_rollback_problems(scope: DeployScope, plan: Plan) -> Iterator[Problem]:
    """Find planned changes that could not be rolled back completely."""
    for ref, changes in sorted(_group_changes(plan).items()):
        record = scope.record(ref)
        placement = scope.placements.get(ref)
        # A record of another mode is refused for that, and its provider is not called.
        if record is not None and (placement is None or placement.mode == record.mode):
            found = _find_record_problems(scope, record, changes)
            yield from (one.of(ref.service) for one in found)


def find_unknown_triggers(scope: DeployScope, plan: Plan) -> Iterator[Problem]:
    """Find functions beside the deployed ones whose triggers have changed secrets: the release of
    the service sets all triggers."""
    for ref, changes in sorted(_group_changes(plan).items()):
        record = scope.record(ref)
        for one in record.functions if record else ():
            if one.name not in changes and has_hidden_triggers(one):
                values = scope.tools.values.values(ref, one.name)
                if values.is_configured and find_triggers(one, values) is None:
                    yield unknown_trigger_problem(one.name, _DEPLOY_TOO).of(ref.service)


def is_rollback_wanted(scope: DeployScope, said: bool | None) -> bool:
    """Return whether a failure of this run is to be rolled back."""
    units = scope.work.units.all()
    return any(is_rollback_enabled(said, unit.config, scope.settings) for unit in units)


def _group_changes(plan: Plan) -> Mapping[RecordRef, _Changes]:
    found: dict[RecordRef, _Changes] = {}
    for task, decision in zip(plan.graph.tasks, plan.decisions, strict=True):
        if decision.action is Action.SKIP:
            continue
        match task.inputs:
            case DeployInputs(functions=specs):
                found.setdefault(get_record_ref(task.inputs), {}).update(
                    {one[0]: one[2] for one in specs}
                )
            case RemoveInputs(function=function):
                found.setdefault(get_record_ref(task.inputs), {})[function] = None
            case _:
                pass
    return found


def _find_record_problems(
    scope: DeployScope, record: Record, changes: _Changes
) -> Iterator[Problem]:
    is_whole = is_whole_service_deploy(record.provider_id, record.mode)
    # One that may or may not be there, nobody puts back.
    live = [one for one in record.functions if one.key and (is_whole or one.name in changes)]
    record_store = scope.transaction.record_store(record.ref)
    lost = find_missing_archives(record_store, record.ref, {one.artifact_sha256 for one in live})
    has_versions = bool(live) and has_kept_versions(scope.tools, record)
    for one in live:
        past = PastFunction(record.ref, one, record.salt)
        if one.artifact_sha256 in lost:
            yield _missing_archive_problem(past)
        # What is taken away goes with all of its versions.
        is_leaving = one.name in changes and changes[one.name] is None
        if (is_leaving or not has_versions) and _is_moving(past, changes.get(one.name)):
            yield from _find_value_problems(scope, past)
        if has_hidden_triggers(one):
            yield from _find_trigger_problems(scope, past)


def _find_trigger_problems(scope: DeployScope, past: PastFunction) -> Iterator[Problem]:
    values = scope.tools.values.values(past.ref, past.record.name)
    if find_triggers(past.record, values) is None:
        change = "a secret in its triggers changes, and the state does not contain the old one"
        message = f"a rollback of {past.title} is not possible: {change}"
        yield Problem("rollback/no-way-back", message, "use --no-rollback-on-failure")


def _is_moving(past: PastFunction, env: Pairs | None) -> bool:
    """Compare hashes only: a plan reads no config of unchanged services."""
    today = dict(hash_environment(env or (), past.salt))
    return any(today.get(name) != digest for name, digest in past.record.environment)


def _missing_archive_problem(past: PastFunction) -> Problem:
    sha256 = past.record.artifact_sha256[:12]
    message = f"a rollback of {past.title} is not possible: its archive {sha256} no longer exists"
    return Problem("rollback/no-way-back", message, f"restore the archive file, {_GO_ON}")


def _find_value_problems(scope: DeployScope, past: PastFunction) -> Iterator[Problem]:
    opened = past.open_values(scope.tools)
    today = scope.values.read_environment(past.ref, past.record.name)
    addresses = {name: format_placeholder(name) for name in scope.values.late_names(past.ref)}
    known = KnownValues(
        today=today or Secret(()), kept=opened.values, addresses=addresses, assumes_secrets=True
    )
    lost = recover_past_values(past.record, known, past.salt).lost
    if not lost:
        return
    names = ", ".join(lost)
    change = f"the deployed values of {names} are not in the config"
    if today is None:
        change = f"it is not in the config, and it uses {names}"
    kept = f"stored values: {opened.why_not}" if opened.why_not else "no values are stored"
    message = f"a rollback of {past.title} is not possible: {change} ({kept})"
    yield Problem("rollback/no-way-back", message, f"{_KEEPS}, {_GO_ON}")
