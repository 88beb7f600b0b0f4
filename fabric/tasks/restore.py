"""Take functions back to an earlier deployment: kept archives and settings, no source needed."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fabric.graph.decide import Decision
from fabric.graph.judge import GONE, judge_restore, keyed
from fabric.graph.plan import Known
from fabric.model.concurrency import told_settings
from fabric.model.hashing import digest_fields
from fabric.model.problems import FabricError, Problem
from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    FunctionUnsure,
    ReleaseDone,
    UnitDone,
)
from fabric.model.records.record import FunctionRecord, Mode, RecordRef
from fabric.model.secret import Secret
from fabric.model.task import EntryKind, InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId, is_kind
from fabric.model.task_inputs import RestoreInputs
from fabric.providers.contract import Artifact, FunctionOrder, LiveFunction
from fabric.tasks.contract import Made, TaskTools
from fabric.tasks.deploy import order_of, ref_of
from fabric.tasks.deploy_tools import DeployTools, OpenRecord, watch_of
from fabric.tasks.release import lives_of

_VERSION = "1"


class RestoreKind:
    def __init__(self, tools: DeployTools) -> None:
        self._tools = tools

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "restore", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = _inputs(known.task)
        ref = ref_of(inputs)
        return judge_restore(
            known, inputs, self._tools.records.record(ref), self._tools.targets.target(ref)
        )

    def claim(self, task: Task) -> None:
        self._tools.records.locked_record(ref_of(_inputs(task)))

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> Made:
        del upstream
        inputs = _inputs(task)
        locked_record = self._tools.records.locked_record(ref_of(inputs))
        locked_record.require_lock()
        if inputs.functions:
            self._functions(task, locked_record, shop)
        if not inputs.function:
            self._service(task, locked_record, shop)
        return Made(GONE.digest, keep=False)

    def _functions(self, task: Task, locked_record: OpenRecord, shop: TaskTools) -> None:
        inputs = _inputs(task)
        ref = ref_of(inputs)
        target = self._tools.targets.target(ref)
        then = [one for one in target.functions if one.name in inputs.functions]
        orders = [self._order(ref, one, locked_record.record.salt) for one in then]
        deployer = self._tools.deployers.deployer(ref, Mode(inputs.mode), watch_of(task, shop))
        try:
            full_address = replace(
                self._tools.deployers.full_address(ref), previous=locked_record.record
            )
            with shop.away():
                deployed = deployer.deploy(full_address, orders)
        except FabricError:
            if inputs.mode != Mode.SIMULATED:
                for one in then:
                    locked_record.add(FunctionUnsure(task.id, one.name))
            raise
        shop.say(task.id, deployed.talk)
        found = {one.name: one for one in deployed.functions}
        for one in then:
            live = self._as_live(ref, one, locked_record.record.salt)
            locked_record.add(FunctionDone(task.id, with_place(live, found[one.name])))
        if not inputs.function:
            for name in {one.name for one in locked_record.record.functions} - set(
                inputs.functions
            ):
                locked_record.add(FunctionGone(task.id, name))
        if deployed.outputs:
            locked_record.add(UnitDone(task.id, deployed.outputs))

    def _service(self, task: Task, locked_record: OpenRecord, shop: TaskTools) -> None:
        inputs = _inputs(task)
        ref = ref_of(inputs)
        target = self._tools.targets.target(ref)
        names = tuple(one.name for one in target.functions)
        deployer = self._tools.deployers.deployer(ref, Mode(inputs.mode))
        given = locked_record.record.outputs if inputs.functions else target.outputs
        full_address = self._tools.deployers.full_address(ref)
        with shop.away():
            released = deployer.release(full_address, lives_of(locked_record, names), given)
        locked_record.add(
            ReleaseDone(task.id, released.endpoint, released.outputs, target.release_key)
        )

    def _order(self, ref: RecordRef, one: FunctionRecord, salt: str) -> FunctionOrder:
        plain = told_settings(one.settings)
        settings = dict(plain)
        path = self._tools.archives.kept(ref, one.artifact_sha256)
        artifact = Artifact(
            path, one.artifact_sha256, path.stat().st_size, one.handler, settings.get("runtime", "")
        )
        env = self._environment(ref, one, salt)
        today = self._tools.values.values(ref, one.name)
        values = replace(today, triggers=one.triggers, layers=one.layers, env=Secret(env))
        return order_of(one.name, artifact, plain, values)

    def _as_live(self, ref: RecordRef, then: FunctionRecord, salt: str) -> FunctionRecord:
        """With other values than it had then, it is not what its key says."""
        one = self._with_upstreams(ref, then)
        declared = self._tools.values.values(ref, one.name).declared.reveal()
        if not moved_variables(one, declared, salt):
            return one
        names = {name for name, _ in one.environment}
        today = keyed_values(tuple(pair for pair in declared if pair[0] in names), salt)
        return replace(one, key="", environment=today)

    def _with_upstreams(self, ref: RecordRef, then: FunctionRecord) -> FunctionRecord:
        """It is given what its upstreams give today; under a key that nobody asks for, where that
        is not what they gave then: the next deploy looks at it again."""
        releases = [name for name, _ in then.upstream if is_kind(name, "release")]
        today = dict(self._tools.records.as_found(ref.stage, releases))
        upstream = tuple((name, today.get(name, digest)) for name, digest in then.upstream)
        if upstream == then.upstream:
            return then
        parts = (part for pair in upstream for part in pair)
        return replace(then, upstream=upstream, key=digest_fields(("restored", then.key, *parts)))

    def _environment(self, ref: RecordRef, one: FunctionRecord, salt: str) -> Pairs:
        """Values are never kept, so those of today have to be those of then."""
        values = self._tools.values.values(ref, one.name)
        moved = moved_variables(one, values.declared.reveal(), salt)
        if moved and not self._tools.force:
            raise FabricError(moved_problem(ref, one.name, moved))
        names = {name for name, _ in one.environment}
        return tuple(pair for pair in values.env.reveal() if pair[0] in names)


def with_place(one: FunctionRecord, live: LiveFunction) -> FunctionRecord:
    """A restored function is where the provider says that it is now."""
    return replace(
        one, resource_name=live.resource_name, resource_id=live.resource_id, endpoint=live.endpoint
    )


def moved_variables(one: FunctionRecord, env: Pairs, salt: str) -> tuple[str, ...]:
    """The variables whose values today are not those that were deployed."""
    today = dict(keyed_values(env, salt))
    return tuple(name for name, digest in one.environment if today.get(name) != digest)


def keyed_values(env: Pairs, salt: str) -> Pairs:
    return keyed(tuple((name, digest_fields((value,))) for name, value in env), salt)


def moved_problem(ref: RecordRef, function: str, names: Sequence[str]) -> Problem:
    return Problem(
        "rollback/environment",
        f"`{ref.service}/{function}`: {', '.join(names)} had other values then, "
        "and values are not kept",
        hint="set them as they were, or take today's with --with-current-environment",
    )


def _inputs(task: Task) -> RestoreInputs:
    if not isinstance(task.inputs, RestoreInputs):
        raise TypeError(f"{task.id} is not a restore")
    return task.inputs
