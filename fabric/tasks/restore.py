"""Restore functions of an earlier deployment from stored archives and settings, without source."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.graph.decide import Decision
from fabric.graph.judge import GONE, judge_restore
from fabric.graph.plan import Known
from fabric.model.calls.concurrency import format_settings, parse_concurrency
from fabric.model.hashing import hash_fields
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import FabricError, Problem
from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    RecordChange,
    ReleaseDone,
    UnitDone,
    WorkflowDone,
    record_failed_release,
)
from fabric.model.records.record import (
    Deployment,
    FunctionRecord,
    Mode,
    Record,
    RecordRef,
    WorkflowRecord,
)
from fabric.model.secrets.secret import NO_PAIRS, Secret
from fabric.model.task import EntryKind, InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId, is_kind
from fabric.model.task_inputs import RestoreInputs
from fabric.providers.core.contract import Artifact, FunctionOrder, ImageArtifact, LiveFunction
from fabric.tasks.after_failure import list_doubts, record_doubt_on_failure
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy import order_of
from fabric.tasks.deploy_tools import DeployTools, OpenRecord, get_record_ref, watch_of
from fabric.tasks.past_environment import PastEnvironment, PastFunction, find_versions_to_restore
from fabric.tasks.release import list_functions_to_release, require_triggers

_VERSION = "1"
_NO_TAGS = hash_fields((repr(()),))


class _Return(Struct, frozen=True):
    """One function to restore: its future record and its order."""

    record: FunctionRecord
    order: FunctionOrder
    said: str = ""


class RestoreKind:
    def __init__(self, tools: DeployTools) -> None:
        self._tools = tools

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "restore", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = require_inputs(known.task, RestoreInputs)
        ref = get_record_ref(inputs)
        return judge_restore(
            known, inputs, self._tools.records.record(ref), self._tools.targets.target(ref)
        )

    def claim(self, task: Task) -> None:
        self._tools.records.lock_record(get_record_ref(require_inputs(task, RestoreInputs)))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        del upstream
        inputs = require_inputs(task, RestoreInputs)
        locked_record = self._tools.records.lock_record(get_record_ref(inputs))
        locked_record.require_lock()
        target = self._tools.targets.target(locked_record.record.ref)
        if problem := find_deleted_workflow(locked_record.record, target):
            raise FabricError(problem)
        if inputs.functions:
            self._restore_functions(task, locked_record, task_tools)
        if not inputs.function:
            self._restore_service(task, locked_record, task_tools)
        return TaskResult(GONE.digest, keep=False)

    def _restore_functions(
        self, task: Task, locked_record: OpenRecord, task_tools: TaskTools
    ) -> None:
        inputs = require_inputs(task, RestoreInputs)
        ref = get_record_ref(inputs)
        target = self._tools.targets.target(ref)
        then = [one for one in target.functions if one.name in inputs.functions]
        record = locked_record.record
        with task_tools.away():
            returns = self._plan_returns(record, then)
        orders = [one.order for one in returns]
        deployer = self._tools.deployers.deployer(ref, Mode(inputs.mode))
        full_address = replace(
            self._tools.deployers.full_address(ref), previous=locked_record.record
        )
        names = [one.name for one in then]
        with (
            record_doubt_on_failure(locked_record, *list_doubts(task.id, Mode(inputs.mode), names)),
            task_tools.away(),
        ):
            deployed = deployer.deploy(full_address, orders, watch_of(task, task_tools))
        found = {one.name: one for one in deployed.functions}
        learned: list[RecordChange] = []
        for back in returns:
            task_tools.say(task.id, back.said)
            done = with_place(back.record, found[back.record.name])
            learned.append(FunctionDone(task.id, done))
        if not inputs.function:
            there = {one.name for one in locked_record.record.functions}
            gone = sorted(there - set(inputs.functions))
            learned += [FunctionGone(task.id, name) for name in gone]
        if deployed.outputs:
            learned.append(UnitDone(task.id, deployed.outputs))
        # In one piece: with the first of them the task counts as ended.
        locked_record.add(*learned)

    def _plan_returns(self, record: Record, then: Sequence[FunctionRecord]) -> list[_Return]:
        kept = find_versions_to_restore(self._tools, record, then)
        return [
            self._return_kept_version(record.ref, one, kept[one.name], record.salt)
            if one.name in kept
            else self._return_new_version(record, one)
            for one in then
        ]

    def _restore_service(
        self, task: Task, locked_record: OpenRecord, task_tools: TaskTools
    ) -> None:
        inputs = require_inputs(task, RestoreInputs)
        ref = get_record_ref(inputs)
        target = self._tools.targets.target(ref)
        names = tuple(one.name for one in target.functions)
        deployer = self._tools.deployers.deployer(ref, Mode(inputs.mode))
        given = locked_record.record.outputs if inputs.functions else target.outputs
        record = locked_record.record
        # The release reads the state machines of that deployment. Their rows are recorded with it.
        then = replace(record, workflows=_merge_workflows(record, target))
        full_address = replace(
            self._tools.deployers.full_address(ref), previous=then, restores=target.deployment_id
        )
        functions = list_functions_to_release(
            self._tools.values, locked_record, names, takes_today=self._tools.takes_today
        )
        doubts = (record_failed_release(task.id, record),) if inputs.mode == Mode.REAL else ()
        with record_doubt_on_failure(locked_record, *doubts), task_tools.away():
            released = deployer.release(full_address, functions, given, watch_of(task, task_tools))
        endpoint, outputs, kept = released.endpoint, released.outputs, released.kept
        rows = (WorkflowDone(task.id, one) for one in target.workflows)
        done = ReleaseDone(task.id, endpoint, outputs, target.release_key, kept)
        locked_record.add(*rows, done)

    def _return_kept_version(
        self, ref: RecordRef, one: FunctionRecord, version: str, salt: str
    ) -> _Return:
        """Restore the version that the provider keeps, because the values are unknown here."""
        order = self._order(ref, one, NO_PAIRS)
        mark = mark_of(one.key, salt)
        said = f"{one.name} is restored to the version at the provider, with its values"
        return _Return(one, replace(order, version=version, only_version=True, mark=mark), said)

    def _return_new_version(self, record: Record, one: FunctionRecord) -> _Return:
        """Restore from the archive, or from the old version if the provider still has it."""
        ref, salt = record.ref, record.salt
        untold = self._merge_with_live(ref, one, salt)
        live, said = self._select_tags(ref, untold)
        env = PastEnvironment(self._tools, PastFunction(ref, one, salt)).build_environment()
        order = self._order(ref, one, env)
        then = mark_of(one.key, salt) if untold.key == one.key != live.key else ""
        return _Return(live, replace(order, mark=mark_of(live.key, salt), mark_of_then=then), said)

    def _order(self, ref: RecordRef, one: FunctionRecord, env: Secret[Pairs]) -> FunctionOrder:
        plain = format_settings(one.settings)
        settings = dict(plain)
        path = self._tools.archives.find_archive(ref, one.artifact_sha256)
        artifact = Artifact(
            path=path,
            sha256=one.artifact_sha256,
            size=path.stat().st_size,
            handler=one.handler,
            runtime=settings.get("runtime", ""),
            image=ImageArtifact(pushed=one.image) if one.image else None,
        )
        today = self._tools.values.values(ref, one.name)
        reserved, provisioned = parse_concurrency(settings.get("concurrency", ""))
        capacity = replace(
            today.capacity, reserved_concurrency=reserved, provisioned_concurrency=provisioned
        )
        triggers = require_triggers(one, today, takes_today=self._tools.takes_today)
        values = replace(today, triggers=triggers, layers=one.layers, env=env, capacity=capacity)
        order = order_of(one.name, artifact, plain, values)
        return replace(order, version=one.resource_id)

    def _select_tags(self, ref: RecordRef, one: FunctionRecord) -> tuple[FunctionRecord, str]:
        """Return the tags to use. A record stores only their hash, so changed tags are the current
        ones."""
        today = dict(self._tools.values.values(ref, one.name).spec[1]).get("tags", _NO_TAGS)
        if dict(one.settings).get("tags", today) == today:
            return one, ""
        settings = tuple((name, today if name == "tags" else text) for name, text in one.settings)
        said = f"{one.name} gets its current tags: the old ones are not known"
        key = hash_fields(("restored", one.key, today))
        return replace(one, settings=settings, key=key), said

    def _merge_with_live(self, ref: RecordRef, then: FunctionRecord, salt: str) -> FunctionRecord:
        one = self._with_upstreams(ref, then)
        return PastEnvironment(self._tools, PastFunction(ref, one, salt)).build_record()

    def _with_upstreams(self, ref: RecordRef, then: FunctionRecord) -> FunctionRecord:
        """Add current upstream outputs. If they differ from the old ones, use a key that no config
        has.

        The next deploy then checks the function again.
        """
        releases = [name for name, _ in then.upstream if is_kind(name, "release")]
        today = dict(self._tools.records.as_found(ref.stage, releases))
        upstream = tuple((name, today.get(name, digest)) for name, digest in then.upstream)
        if upstream == then.upstream:
            return then
        parts = (part for pair in upstream for part in pair)
        return replace(then, upstream=upstream, key=hash_fields(("restored", then.key, *parts)))


def find_deleted_workflow(record: Record, target: Deployment) -> Problem | None:
    """Find a state machine that was deleted since, because its versions do not exist."""
    names = {one.name for one in record.workflows}
    gone = [one.name for one in target.workflows if not one.version or one.name not in names]
    if not gone:
        return None
    message = f"the workflow `{gone[0]}` was deleted since this deployment"
    hint = "deploy the commit of that deployment again"
    return Problem("rollback/no-way-back", message, hint)


def _merge_workflows(record: Record, target: Deployment) -> tuple[WorkflowRecord, ...]:
    """Return the state machines to release. Newer ones are deleted after the release."""
    names = {one.name for one in target.workflows}
    return (*target.workflows, *(one for one in record.workflows if one.name not in names))


def with_place(one: FunctionRecord, live: LiveFunction) -> FunctionRecord:
    """Update the function's address from the provider's response."""
    return replace(
        one,
        resource_name=live.resource_name,
        resource_id=live.resource_id,
        endpoint=live.endpoint,
        image=live.image or one.image,
    )
