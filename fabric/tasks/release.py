"""Release a service at a provider: its service-wide resources, after its functions are deployed."""

from collections.abc import Mapping

from msgspec.structs import replace

from fabric.graph.decide import Action, Decision
from fabric.graph.judge import judge_release, release_key, release_output
from fabric.graph.plan import Known
from fabric.model.calls.concurrency import format_settings, parse_concurrency
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import ConfigSpot, FabricError, Problem
from fabric.model.records.changes import ReleaseDone, add_doubt, record_failed_release
from fabric.model.records.record import FunctionRecord, Mode, Record
from fabric.model.secrets.secrecy import REDACTED
from fabric.model.task import EntryKind, InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import ReleaseInputs
from fabric.providers.core.contract import LiveFunction
from fabric.tasks.after_failure import record_doubt_on_failure
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy import list_output_hashes, merge_pairs, with_outside
from fabric.tasks.deploy_tools import (
    DeployTools,
    FunctionValues,
    OpenRecord,
    Values,
    get_record_ref,
    watch_of,
)
from fabric.tasks.layer import delete_layer_versions, list_unused_layers

_VERSION = "1"


class ReleaseKind:
    def __init__(self, tools: DeployTools) -> None:
        self._tools = tools

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "release", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = require_inputs(known.task, ReleaseInputs)
        known = with_outside(known, self._tools, inputs.outside)
        decision = judge_release(known, inputs, self._tools.records.record(get_record_ref(inputs)))
        if self._tools.force and decision.action is Action.SKIP:
            return Decision(Action.RUN, "--force was given", decision.key, decision.inputs)
        return decision

    def claim(self, task: Task) -> None:
        self._tools.records.lock_record(get_record_ref(require_inputs(task, ReleaseInputs)))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, ReleaseInputs)
        ref, mode = get_record_ref(inputs), Mode(inputs.mode)
        locked_record = self._tools.records.lock_record(ref)
        locked_record.require_lock()
        functions = list_functions_to_release(self._tools.values, locked_record, inputs.functions)
        deployer = self._tools.deployers.deployer(ref, mode)
        record = self._discard_if_forced(locked_record.record)
        full_address = replace(self._tools.deployers.full_address(ref), previous=record)
        watch = watch_of(task, task_tools)
        doubts = (record_failed_release(task.id, record),) if mode is Mode.REAL else ()
        with record_doubt_on_failure(locked_record, *doubts), task_tools.away():
            released = deployer.release(full_address, functions, record.outputs, watch)
            self._tools.deployers.check_health(ref, mode, released)
        outside = self._tools.records.as_found(inputs.stage, inputs.outside)
        known = Known(task, self.code(task), merge_pairs(list_output_hashes(upstream), outside))
        key = release_key(known, inputs, locked_record.record)
        done = ReleaseDone(task.id, released.endpoint, released.outputs, key, released.kept)
        # Only a real release reaches anybody: another follows from its deploys, any time again.
        locked_record.add(done, durable=mode is Mode.REAL)
        unused = list_unused_layers(locked_record.base, locked_record.record)
        if unused:
            with task_tools.away():
                delete_layer_versions(self._tools, task, unused, locked_record, watch)
        output = release_output(locked_record.record)
        return TaskResult(output.digest, facts=output.facts, keep=False)

    def _discard_if_forced(self, record: Record) -> Record:
        """Discard the known state if the release is forced, so that it is read from the
        provider."""
        return replace(record, kept=add_doubt(record.kept)) if self._tools.force else record


def list_functions_to_release(
    all_values: FunctionValues,
    locked_record: OpenRecord,
    names: tuple[str, ...],
    *,
    takes_today: bool = False,
) -> tuple[LiveFunction, ...]:
    """List the functions to release, with secrets in triggers from the config.

    Tags also come from the config, because the record has only their hash.
    """
    ref = locked_record.record.ref
    found = []
    for one in list_live_functions(locked_record, names):
        values = all_values.values(ref, one.name)
        triggers = require_triggers(one, values, takes_today=takes_today)
        found.append(replace(one, triggers=triggers, tags=values.tags))
    return tuple(found)


def require_triggers(
    one: LiveFunction | FunctionRecord, values: Values, *, takes_today: bool
) -> tuple[str, ...]:
    triggers = find_triggers(one, values, takes_today=takes_today)
    if triggers is None:
        raise FabricError(unknown_trigger_problem(one.name, "deploy this function too"))
    return triggers


def find_triggers(
    one: LiveFunction | FunctionRecord, values: Values, *, takes_today: bool = False
) -> tuple[str, ...] | None:
    """Return recorded triggers with their secrets; None if a secret is not known.

    The config has a secret if the hash of all triggers is the recorded one. `takes_today` allows
    other values in the same triggers.
    """
    if not has_hidden_triggers(one):
        return one.triggers
    specs = (values.spec, values.plain_spec) if values.is_configured else ()
    hashes = {_read_trigger_hash(spec[1]) for spec in specs if spec}
    if _read_trigger_hash(one.settings) in hashes:
        return values.triggers
    known = dict(zip(values.shown.triggers, values.triggers, strict=True)) if takes_today else {}
    found = tuple(known.get(text, text) for text in one.triggers)
    return None if any(REDACTED in text for text in found) else found


def has_hidden_triggers(one: LiveFunction | FunctionRecord) -> bool:
    return any(REDACTED in text for text in one.triggers)


def _read_trigger_hash(settings: Pairs) -> str:
    return dict(settings).get("triggers", "")


def unknown_trigger_problem(function: str, hint: str) -> Problem:
    message = f"function `{function}` has a trigger with a secret that the state does not contain"
    return Problem("deploy/unknown-trigger", message, hint, about=ConfigSpot(function))


def list_live_functions(
    locked_record: OpenRecord, names: tuple[str, ...]
) -> tuple[LiveFunction, ...]:
    """List the functions of a record that are still wanted, as provider values."""
    return tuple(
        LiveFunction(
            *(one.name, one.resource_name, one.resource_id, one.endpoint, one.artifact_sha256),
            mark=mark_of(one.key, locked_record.record.salt),
            triggers=one.triggers,
            reserved_concurrency=_read_reserved_concurrency(one.settings),
            settings=one.settings,
            image=one.image,
        )
        for one in locked_record.record.functions
        if one.name in names
    )


def _read_reserved_concurrency(settings: Pairs) -> int | None:
    reserved, _ = parse_concurrency(dict(format_settings(settings)).get("concurrency", ""))
    return reserved
