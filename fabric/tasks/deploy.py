"""Deploy functions at their provider: archive, settings and environment."""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.rules.late_settings import find_setting_problems
from fabric.graph.decide import Action, Decision
from fabric.graph.judge import (
    DesiredFunction,
    build_live_output,
    build_wanted,
    find_dropped_functions,
    find_stale_functions,
    judge_deploy,
    list_wanted,
)
from fabric.graph.plan import Known
from fabric.model.catalog import FUNCTION_NAME, FUNCTION_SETTINGS, find_provider_facts
from fabric.model.hashing import hash_fields
from fabric.model.late_values import fill_bindings
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import FabricError, Problem, UntouchedError
from fabric.model.records.changes import (
    FunctionDone,
    FunctionGone,
    RecordChange,
    UnitDone,
)
from fabric.model.records.record import FunctionRecord, Mode, Record, RecordRef, ValueOwner
from fabric.model.secrets.secret_pins import has_secret_versions
from fabric.model.task import EntryKind, InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId, find_image_task, package_of, remove_target_suffix
from fabric.model.task_inputs import DeployInputs
from fabric.providers.core.contract import (
    Artifact,
    Deployed,
    Deployer,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    ImageArtifact,
    LiveFunction,
)
from fabric.tasks.after_failure import list_doubts, record_doubt_on_failure
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy_tools import (
    DeployTools,
    OpenRecord,
    Values,
    edited_config_error,
    get_record_ref,
    watch_of,
)
from fabric.tasks.layer import refuse_large_layers, resolve_layers

# Raise when a deploy of the same inputs would leave something else at the provider.
_VERSION = "1"


class _Share(Struct, frozen=True):
    """One function of a deploy: the desired state, its config values and its order."""

    wanted: DesiredFunction
    values: Values
    order: FunctionOrder


class DeployKind:
    def __init__(self, tools: DeployTools) -> None:
        self._tools = tools

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "deploy", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = require_inputs(known.task, DeployInputs)
        known = with_outside(known, self._tools, inputs.outside)
        decision = judge_deploy(known, inputs, self._tools.records.record(get_record_ref(inputs)))
        if self._tools.force and decision.action is Action.SKIP:
            return Decision(Action.RUN, "--force was given", decision.key, decision.inputs)
        return decision

    def claim(self, task: Task) -> None:
        self._tools.records.lock_record(get_record_ref(require_inputs(task, DeployInputs)))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, DeployInputs)
        ref = get_record_ref(inputs)
        locked_record = self._tools.records.lock_record(ref)
        outside = self._tools.records.as_found(inputs.stage, inputs.outside)
        given = merge_pairs(list_output_hashes(upstream), outside)
        asked = list_wanted(inputs, self.code(task), given)
        salt = locked_record.record.salt
        stale = {one.name for one in find_stale_functions(locked_record.record, asked)}
        values = {one.name: self._tools.values.values(ref, one.name) for one in asked}
        _refuse_other_values(inputs, values)
        values = {
            name: _with_layer_addresses(one, locked_record.record) for name, one in values.items()
        }
        names = [one.name for one in asked]
        plain = [
            (one, values[one.name])
            for one in asked
            if one.name in stale
            and self._has_recorded_values(task, values[one.name], locked_record.record, given)
        ]
        if plain and len(plain) == len(stale) and self._is_settled(task, locked_record):
            self._note_versions(task, locked_record, plain)
            task_tools.say(task.id, "the deployed secrets have the same values")
            return TaskResult(build_live_output(locked_record.record, names).digest, keep=False)
        shares = []
        for one in asked:
            artifact = self._keep_artifact(ref, one, upstream, task_tools)
            refuse_large_layers(artifact, values[one.name].layers, locked_record.record)
            artifact = replace(artifact, changed=one.name in stale)
            share = _add_mark(_build_share(one, values[one.name], artifact), salt)
            shares.append(_ask_for_version(share, locked_record.record))
        deployed = self._call_provider(
            task, locked_record, [share.order for share in shares], task_tools
        )
        self._note(task, locked_record, shares, deployed)
        return TaskResult(build_live_output(locked_record.record, names).digest, keep=False)

    def _has_recorded_values(
        self, task: Task, values: Values, record: Record, given: Pairs
    ) -> bool:
        """Return whether a function of an older version of fabric is deployed with the same values
        of secrets: its key contains them, and not their versions."""
        was = record.function(values.spec[0])
        if was is None or values.plain_spec is None or has_secret_versions(was.settings):
            return False
        inputs = require_inputs(task, DeployInputs)
        return was.key == build_wanted(inputs, values.plain_spec, self.code(task), given).key

    def _is_settled(self, task: Task, locked_record: OpenRecord) -> bool:
        """Return whether nothing except versions of secrets can have changed."""
        dropped = find_dropped_functions(locked_record.record, require_inputs(task, DeployInputs))
        is_open = any(intent.task == task.id for intent in locked_record.unsettled)
        return not (dropped or is_open or self._tools.force)

    def _note_versions(
        self,
        task: Task,
        locked_record: OpenRecord,
        rows: Sequence[tuple[DesiredFunction, Values]],
    ) -> None:
        """Record the versions of secrets that are deployed."""
        learned = [
            FunctionDone(task.id, self._describe(locked_record, one, values, was))
            for one, values in rows
            if (was := locked_record.record.function(one.name))
        ]
        locked_record.add(*learned)

    def _keep_artifact(
        self,
        ref: RecordRef,
        one: DesiredFunction,
        upstream: Mapping[TaskId, Output],
        task_tools: TaskTools,
    ) -> Artifact:
        owner = package_of(upstream, ref.service, one.name)
        package = upstream[owner]
        content = task_tools.content(owner, package.files[0])
        image = _find_image(ref, one, upstream, task_tools)
        if image is None:
            _refuse_large(ref, one, len(content))
        with task_tools.away():
            archive = self._tools.archives.keep(ref, content)
        return Artifact(
            path=archive,
            sha256=package.fact("sha256"),
            size=len(content),
            handler=package.fact("handler"),
            runtime=dict(one.settings)["runtime"],
            image=image,
        )

    def _call_provider(
        self,
        task: Task,
        locked_record: OpenRecord,
        orders: Sequence[FunctionOrder],
        task_tools: TaskTools,
    ) -> Deployed:
        """Call the provider. On failure, the previous state is marked as uncertain."""
        inputs = require_inputs(task, DeployInputs)
        ref, mode = get_record_ref(inputs), Mode(inputs.mode)
        deployer = self._tools.deployers.deployer(ref, mode)
        locked_record.require_lock()
        with task_tools.away():
            adopted = self._adopt_deployed(task, locked_record, orders)
        if adopted is not None:
            task_tools.say(task.id, "found at the provider with the expected settings")
            return adopted
        full_address = replace(
            self._tools.deployers.full_address(ref), previous=locked_record.record
        )
        late = [one for one in orders if one.has_late_values]
        if (
            late and mode is not Mode.SIMULATED
        ):  # simulated values do not have the form of real ones
            drafts = self._tools.values.drafts(ref)
            _refuse_bad_values(deployer, full_address, late, drafts)
        _note_own_names(locked_record, orders)
        task_tools.go_on()
        names = [order.name for order in orders]
        with (
            record_doubt_on_failure(locked_record, *list_doubts(task.id, mode, names)),
            task_tools.away(),
        ):
            return deployer.deploy(full_address, orders, watch_of(task, task_tools))

    def _adopt_deployed(
        self, task: Task, locked_record: OpenRecord, orders: Sequence[FunctionOrder]
    ) -> Deployed | None:
        """Adopt a deploy of an earlier run that died before recording the response."""
        if not any(intent.task == task.id for intent in locked_record.unsettled):
            return None
        ref = get_record_ref(require_inputs(task, DeployInputs))
        deployer = self._tools.deployers.deployer(ref, locked_record.record.mode)
        found: list[LiveFunction] = []
        for order in orders:
            full_address = replace(
                self._tools.deployers.full_address(ref), previous=locked_record.record
            )
            live = deployer.find(full_address, order.name, order.mark)
            if live is None or live.mark != order.mark:
                return None
            found.append(live)
        return Deployed(tuple(found))

    def _note(
        self,
        task: Task,
        locked_record: OpenRecord,
        shares: Sequence[_Share],
        deployed: Deployed,
    ) -> None:
        live = {one.name: one for one in deployed.functions}
        learned: list[RecordChange] = [
            FunctionDone(
                task.id, self._build_function_record(locked_record, share, live[share.wanted.name])
            )
            for share in shares
        ]
        inputs = require_inputs(task, DeployInputs)
        gone = find_dropped_functions(locked_record.record, inputs)
        learned += [FunctionGone(task.id, name) for name in gone]
        if deployed.outputs:
            learned.append(
                UnitDone(task.id, _merge_deploy_outputs(locked_record, inputs, deployed))
            )
        locked_record.add(*learned)

    def _build_function_record(
        self, locked_record: OpenRecord, share: _Share, live: LiveFunction
    ) -> FunctionRecord:
        one, values, artifact = share.wanted, share.values, share.order.artifact
        was = locked_record.record.function(one.name)
        unchanged = was is not None and was.key == one.key and not self._tools.force
        made = FunctionRecord(
            name=one.name,
            key=one.key,
            artifact_sha256=artifact.sha256,
            resource_name=live.resource_name,
            resource_id=live.resource_id,
            endpoint=live.endpoint,
            handler=artifact.handler,
            triggers=values.shown.triggers,
            layers=values.shown.layers,
            upstream=one.upstream,
            updated_at=was.updated_at if was and unchanged else self._tools.records.now(),
            image=live.image,
            late=values.late,
        )
        described = self._describe(locked_record, one, values, made)
        # The same key, the same settings: they stay as they were written.
        return replace(described, settings=was.settings) if was and unchanged else described

    def _describe(
        self, locked_record: OpenRecord, one: DesiredFunction, values: Values, to: FunctionRecord
    ) -> FunctionRecord:
        """Add the settings and the hashes of the environment to the record of a function."""
        salt = locked_record.record.salt
        environment = one.environment(salt)
        environment_sha256 = hash_fields(part for pair in environment for part in pair)
        owner = ValueOwner(locked_record.record.ref, one.name, salt, environment_sha256)
        was = locked_record.record.function(one.name)
        return replace(
            to,
            settings=_fill_settings(one, values),
            environment=environment,
            environment_sha256=environment_sha256,
            sealed_values=self._seal_values(owner, values, was),
        )

    def _seal_values(self, owner: ValueOwner, values: Values, was: FunctionRecord | None) -> str:
        """Seal the values. Already sealed values stay, because each seal differs."""
        kept_values = self._tools.kept_values
        is_same = was is not None and was.environment_sha256 == owner.environment_sha256
        if was and is_same and kept_values.is_as_good(was.sealed_values):
            return was.sealed_values
        return kept_values.seal(owner, values.declared.reveal())


def _with_layer_addresses(values: Values, record: Record) -> Values:
    """Replace names of layers of the project with the addresses of their current versions."""
    shown = replace(values.shown, layers=resolve_layers(values.shown.layers, record))
    return replace(values, layers=resolve_layers(values.layers, record), shown=shown)


# Settles no intent: the deploy continues.
_NAMING = "naming"


def _note_own_names(locked_record: OpenRecord, orders: Sequence[FunctionOrder]) -> None:
    """Record the name that the config sets for a new function before the first call, so that a
    removal finds the function whatever happens and whatever the config then contains."""
    for one in orders:
        name = dict(one.settings).get(FUNCTION_NAME)
        was = locked_record.record.function(one.name)
        if name and (was is None or not was.resource_name):
            begun = was or FunctionRecord(one.name, key="", artifact_sha256="")
            locked_record.add(FunctionDone(_NAMING, replace(begun, resource_name=name)))


def _find_image(
    ref: RecordRef,
    one: DesiredFunction,
    upstream: Mapping[TaskId, Output],
    task_tools: TaskTools,
) -> ImageArtifact | None:
    """Find the image of a function. Its blobs are read only if the registry does not have them."""
    owner = find_image_task(upstream, ref.service, one.name)
    if owner is None:
        return None
    output = upstream[owner]
    digest, pushed = output.fact("image"), output.fact("pushed")
    if pushed:
        return ImageArtifact(digest=digest, pushed=pushed)
    blobs = {f"sha256:{file.digest}": file for file in output.files}
    return ImageArtifact(
        digest=digest,
        manifest=task_tools.content(owner, blobs[digest]),
        contents={
            name: partial(task_tools.content, owner, file)
            for name, file in blobs.items()
            if name != digest
        },
        base=output.fact("base"),
    )


def order_of(name: str, artifact: Artifact, settings: Pairs, values: Values) -> FunctionOrder:
    return FunctionOrder(
        name=name,
        artifact=artifact,
        settings=settings,
        triggers=values.triggers,
        layers=values.layers,
        env=values.env,
        tags=values.tags,
        reserved_concurrency=values.capacity.reserved_concurrency,
        provisioned_concurrency=values.capacity.provisioned_concurrency,
        secret=values.secret,
        has_late_values=bool(values.late),
    )


def _add_mark(share: _Share, salt: str) -> _Share:
    return replace(share, order=replace(share.order, mark=mark_of(share.wanted.key, salt)))


def _ask_for_version(share: _Share, record: Record) -> _Share:
    """Ask for the deployed version first, if the provider uses a fitting one again: a changed
    trigger or tag needs no new one."""
    was = record.function(share.wanted.name)
    facts = find_provider_facts(dict(share.wanted.settings).get("provider-id", ""))
    is_reused = facts is not None and facts.traits.reuses_versions
    if was is None or not is_reused or was.artifact_sha256 != share.order.artifact.sha256:
        return share
    return replace(share, order=replace(share.order, version=was.resource_id))


def _refuse_large(ref: RecordRef, one: DesiredFunction, size: int) -> None:
    """Before anything is called: no provider takes a part of an archive."""
    provider_id = dict(one.settings).get("provider-id", ref.provider)
    facts = find_provider_facts(provider_id)
    limit = facts.limits.archive_bytes if facts else 0
    if limit and size > limit:
        message = (
            f"the archive of `{ref.service}/{one.name}` has {size:,} bytes; the maximum of "
            f"provider `{provider_id}` is {limit:,}"
        )
        hint = "include fewer files, or exclude packages that the runtime provides"
        raise FabricError(Problem("deploy/archive-too-large", message, hint))


def _refuse_other_values(inputs: DeployInputs, values: Mapping[str, Values]) -> None:
    """Raise if the config changed since the graph was compiled, because the key would be wrong."""
    if any(values[spec[0]].spec != spec for spec in inputs.functions):
        raise edited_config_error(inputs.service)


def _merge_deploy_outputs(
    locked_record: OpenRecord, inputs: DeployInputs, deployed: Deployed
) -> Pairs:
    """Merge outputs. A deploy of some functions keeps the outputs of others; release outputs are
    computed again."""
    if not inputs.others:
        return deployed.outputs
    kept = {
        name: value
        for name, value in locked_record.record.outputs
        if not name.startswith(("url_", "arn_"))
    }
    return tuple({**kept, **dict(deployed.outputs)}.items())


_PLAIN = (
    *("runtime", "entry", "memory", "timeout", "architecture", "concurrency"),
    *FUNCTION_SETTINGS,
)


def list_output_hashes(upstream: Mapping[TaskId, Output]) -> tuple[tuple[str, str], ...]:
    pairs = ((remove_target_suffix(need), output.digest) for need, output in upstream.items())
    return tuple(sorted(pairs))


def with_outside(known: Known, tools: DeployTools, releases: tuple[str, ...]) -> Known:
    """Add outputs of services outside the run, so that they count like those within."""
    if known.upstream is None or not releases:
        return known
    outside = tools.records.as_found(str(getattr(known.task.inputs, "stage", "")), releases)
    return replace(known, upstream=merge_pairs(known.upstream, outside))


def merge_pairs(upstream: Pairs, outside: Pairs) -> Pairs:
    return tuple(sorted((*upstream, *outside)))


def _fill_settings(one: DesiredFunction, values: Values) -> Pairs:
    late = dict(values.late)
    return tuple((name, fill_bindings(text, late)) for name, text in one.settings)


def _refuse_bad_values(
    deployer: Deployer,
    address: DeploymentAddress,
    orders: Sequence[FunctionOrder],
    drafts: Sequence[FunctionDraft],
) -> None:
    """Raise if a late value does not fit its setting: a plan could not check it. `drafts` are all
    functions of the service, because some limits compare them."""
    filled = {
        one.name: FunctionDraft(
            name=one.name,
            settings=one.settings,
            triggers=one.triggers,
            layers=one.layers,
            variables=tuple(name for name, _ in one.env.reveal()),
            provisioned_concurrency=one.provisioned_concurrency,
            tags=one.tags,
        )
        for one in orders
    }
    problems = [problem for one in orders for problem in find_setting_problems(one.settings)]
    others = [one for one in drafts if one.name not in filled]
    problems += [one.problem for one in deployer.unfit(address, [*filled.values(), *others])]
    if problems:
        raise UntouchedError(*problems)


def _build_share(one: DesiredFunction, values: Values, artifact: Artifact) -> _Share:
    settings = dict(_fill_settings(one, values))
    plain = tuple((name, settings[name]) for name in _PLAIN if name in settings)
    return _Share(one, values, order_of(one.name, artifact, plain, values))
