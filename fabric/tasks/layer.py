"""Publish the version of a layer, if its files or settings changed, and delete unused versions."""

import zipfile
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fabric.graph.decide import UP_TO_DATE, Action, Decision, wait_for
from fabric.graph.plan import Known
from fabric.model.hashing import hash_fields
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Problem
from fabric.model.records.changes import LayerDone, LayersGone
from fabric.model.records.record import LayerRecord, Mode, Record, RecordRef
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import LayerInputs
from fabric.providers.core.contract import Artifact, CallContext, LayerOrder, LayerPublisher
from fabric.tasks.contract import TaskResult, TaskTools, require_inputs
from fabric.tasks.deploy_tools import (
    DeployTools,
    OpenRecord,
    PartCall,
    compute_part_key,
    get_record_ref,
)

# Raise when the same inputs would publish something else.
_VERSION = "1"
_MARK_LENGTH = 32
# The limit of Lambda for code and layers together, unpacked.
_LARGEST = 262_144_000


class LayerKind:
    def __init__(self, tools: DeployTools) -> None:
        self._tools = tools

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "layer", _VERSION),)

    def judge(self, known: Known) -> Decision:
        inputs = require_inputs(known.task, LayerInputs)
        count = len(known.code) + len(inputs.entries()) + len(known.task.needs)
        if known.upstream is None:
            return wait_for(known.unknown, count)
        [(_, content)] = known.upstream
        key = _compute_key(known.task, known.code, content)
        record = self._tools.records.record(get_record_ref(inputs))
        was = record.layer(inputs.name) if record else None
        if was is not None and was.key == key and was.retain == inputs.retain:
            if self._tools.force:
                return Decision(Action.RUN, "--force was given", key, count)
            return Decision(Action.SKIP, UP_TO_DATE, key, count, known=build_layer_output(was))
        return Decision(Action.RUN, _format_reason(was, key, content), key, count)

    def claim(self, task: Task) -> None:
        self._tools.records.lock_record(get_record_ref(require_inputs(task, LayerInputs)))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, LayerInputs)
        locked_record = self._tools.records.lock_record(get_record_ref(inputs))
        [(owner, archive)] = upstream.items()
        key = _compute_key(task, self.code(task), archive.digest)
        row = next((one for one in locked_record.record.layers if one.key == key), None)
        if row is None or self._tools.force:
            content = task_tools.content(owner, archive.files[0])
            order = self._build_order(inputs, key, archive, content)
            call = PartCall(self._tools, task, locked_record, task_tools, Mode(inputs.mode))
            with call.open(_require_publisher) as opened:
                published = opened.deployer.publish_layer(opened.address, order, opened.watch)
            row = LayerRecord(
                name=inputs.name,
                key=key,
                address=published,
                content=archive.digest,
                artifact_sha256=order.sha256,
                unpacked=int(archive.fact("unpacked", "0")),
                updated_at=self._tools.records.now(),
            )
        row = replace(row, retain=inputs.retain)
        locked_record.add(LayerDone(task.id, row))
        return TaskResult(build_layer_output(row).digest, keep=False)

    def _build_order(
        self, inputs: LayerInputs, key: Digest, archive: Output, content: bytes
    ) -> LayerOrder:
        """Build the order, with the archive beside the record, as local calls need it."""
        settings = dict(inputs.settings)
        return LayerOrder(
            name=inputs.name,
            archive=self._tools.archives.keep(get_record_ref(inputs), content),
            sha256=archive.fact("sha256"),
            mark=key[:_MARK_LENGTH],
            description=settings.get("description", ""),
            license=settings.get("license", ""),
            runtimes=tuple(settings.get("runtimes", "").split()),
            architectures=tuple(settings.get("architectures", "").split()),
        )


def _require_publisher(tools: DeployTools, ref: RecordRef, mode: Mode) -> LayerPublisher:
    deployer = tools.deployers.deployer(ref, mode)
    if not isinstance(deployer, LayerPublisher):
        raise FabricError(no_publisher_problem(f"`{ref.service}`"))
    return deployer


def no_publisher_problem(title: str) -> Problem:
    message = f"{title} has layers of the project, which only built-in deploys publish"
    hint = "publish them with another tool, and use their ARNs"
    return Problem("config/unfit", message, hint)


def build_layer_output(row: LayerRecord) -> Output:
    """Build the output for functions: they attach the version by its address."""
    return Output(hash_fields((row.address,)), facts=(("address", row.address),))


def _compute_key(task: Task, code: tuple[InputEntry, ...], content: str) -> Digest:
    return compute_part_key(task, code, (("files", content),))


def _format_reason(was: LayerRecord | None, key: Digest, content: str) -> str:
    if was is None:
        return "first publish"
    if was.content != content:
        return "files of the layer changed"
    return "setting retain changed" if was.key == key else "settings of the layer changed"


def resolve_layers(layers: Sequence[str], record: Record) -> tuple[str, ...]:
    """Replace names of layers of the project with the addresses of their current versions."""
    found = ((one, record.layer(one)) for one in layers)
    return tuple(row.address if row else name for name, row in found)


def refuse_large_layers(artifact: Artifact, layers: Sequence[str], record: Record) -> None:
    """Raise if a function is too large together with the layers of the project that it attaches."""
    rows = [one for one in record.layers if one.address in layers]
    if not rows:
        return
    with zipfile.ZipFile(artifact.path) as archive:
        code = sum(one.file_size for one in archive.infolist())
    size = code + sum(one.unpacked for one in rows)
    if size > _LARGEST:
        names = ", ".join(f"`{one.name}` {one.unpacked:,}" for one in rows)
        message = (
            f"the code ({code:,} bytes) and its layers ({names}) have {size:,} bytes unpacked; "
            f"the maximum is {_LARGEST:,}"
        )
        hint = "remove packages or layers"
        raise FabricError(Problem("deploy/archive-too-large", message, hint))


def list_unused_layers(*records: Record) -> tuple[LayerRecord, ...]:
    """List the versions of the last record that neither functions of these records use, nor
    deployments that can be restored. Versions to keep are not listed."""
    used = {
        address
        for record in records
        for functions in (record.functions, *(one.functions for one in record.history))
        for function in functions
        for address in function.layers
    }
    return tuple(one for one in records[-1].layers if one.address not in used and not one.retain)


def delete_layer_versions(
    tools: DeployTools,
    task: Task,
    rows: Sequence[LayerRecord],
    locked_record: OpenRecord,
    watch: CallContext,
) -> tuple[LayerRecord, ...]:
    """Delete versions at the provider and in the record. Returns the rows that are left."""
    ref, mode = get_record_ref(task.inputs), Mode(locked_record.record.mode)
    address = replace(tools.deployers.address(ref), previous=locked_record.record)
    locked_record.require_lock()
    publisher = _require_publisher(tools, ref, mode)
    gone = publisher.delete_layers(address, [one.address for one in rows], watch)
    locked_record.add(LayersGone(task.id, tuple(gone)))
    return tuple(one for one in rows if one.address not in gone)
