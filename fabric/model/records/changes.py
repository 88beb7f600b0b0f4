"""The changes of a run to a record, entry by entry. Memory and replay use the same fold."""

from typing import TypeAlias

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from fabric.model.records.record import (
    RELEASE_UNCERTAIN,
    Deployment,
    FunctionRecord,
    Intent,
    LayerRecord,
    Mode,
    Operation,
    Record,
    StackRecord,
    WorkflowRecord,
)
from fabric.model.records.record_document import (
    Document,
    FunctionDocument,
    decode_function_record,
    encode_function_record,
)
from fabric.model.task import Pairs


class FunctionDone(Struct, frozen=True, tag_field="kind", tag="done"):
    task: str
    function: FunctionRecord


class FunctionGone(Struct, frozen=True, tag_field="kind", tag="gone"):
    task: str
    name: str


class LayerDone(Struct, frozen=True, tag_field="kind", tag="layer"):
    """A published version of a layer, which becomes the current one."""

    task: str
    layer: LayerRecord


class LayersGone(Struct, frozen=True, tag_field="kind", tag="layers-gone"):
    """Versions of layers that were deleted or left to the user, by their addresses."""

    task: str
    addresses: tuple[str, ...]


class StackDone(Struct, frozen=True, tag_field="kind", tag="stack"):
    """A stack that is deployed, or without a key one whose deploy begins."""

    task: str
    stack: StackRecord


class StackGone(Struct, frozen=True, tag_field="kind", tag="stack-gone"):
    task: str
    phase: str


class WorkflowDone(Struct, frozen=True, tag_field="kind", tag="workflow"):
    """A state machine with its version, or without a key one whose deploy begins."""

    task: str
    workflow: WorkflowRecord


class WorkflowGone(Struct, frozen=True, tag_field="kind", tag="workflow-gone"):
    task: str
    name: str


class FunctionUnsure(Struct, frozen=True, tag_field="kind", tag="unsure"):
    """A call failed halfway or its end is unknown: the function's key is no longer valid.

    A new function gets an entry too, because only recorded functions can be deleted.
    """

    task: str
    name: str


class UnitDone(Struct, frozen=True, tag_field="kind", tag="unit"):
    """The outputs of a whole-service deploy beside its functions. They replace the old ones."""

    task: str
    outputs: Pairs


class ReleaseDone(Struct, frozen=True, tag_field="kind", tag="release"):
    task: str
    endpoint: str
    outputs: Pairs
    key: str
    kept: Pairs = ()


LayerChange: TypeAlias = LayerDone | LayersGone
StackChange: TypeAlias = StackDone | StackGone
WorkflowChange: TypeAlias = WorkflowDone | WorkflowGone
PartChange: TypeAlias = LayerChange | StackChange | WorkflowChange
RecordChange: TypeAlias = (
    FunctionDone | FunctionGone | FunctionUnsure | UnitDone | ReleaseDone | PartChange
)


def apply_change(record: Record, entry: RecordChange) -> Record:
    """The record after an entry. To apply one twice changes nothing more."""
    match entry:
        case FunctionDone(function=function):
            rest = [one for one in record.functions if one.name != function.name]
            functions = tuple(sorted((*rest, function), key=lambda one: one.name))
            return replace(record, functions=functions)
        case FunctionGone(name=name):
            rest = [one for one in record.functions if one.name != name]
            kept = tuple(pair for pair in record.kept if not pair[0].endswith(f":{name}"))
            return replace(record, functions=tuple(rest), kept=kept)
        case FunctionUnsure(name=name):
            was = record.function(name) or FunctionRecord(name, key="", artifact_sha256="")
            unsure = apply_change(record, FunctionDone(entry.task, replace(was, key="")))
            return replace(unsure, release_key="")
        case UnitDone(outputs=outputs):
            return replace(record, outputs=outputs)
        case ReleaseDone(endpoint=endpoint, outputs=outputs, key=key, kept=kept):
            return replace(record, endpoint=endpoint, outputs=outputs, release_key=key, kept=kept)
        case _:
            return _apply_part_change(record, entry)


def _apply_part_change(record: Record, entry: PartChange) -> Record:
    if isinstance(entry, LayerDone | LayersGone):
        return replace(record, layers=_list_layers(record, entry))
    if isinstance(entry, WorkflowDone | WorkflowGone):
        return _apply_workflow_change(record, entry)
    return replace(record, stacks=_list_stacks(record, entry))


def _list_layers(record: Record, entry: LayerChange) -> tuple[LayerRecord, ...]:
    """List the versions of layers after an entry. The current ones are last."""
    gone = (entry.layer.address,) if isinstance(entry, LayerDone) else entry.addresses
    left = tuple(one for one in record.layers if one.address not in gone)
    return (*left, entry.layer) if isinstance(entry, LayerDone) else left


def _list_stacks(record: Record, entry: StackChange) -> tuple[StackRecord, ...]:
    phase = entry.stack.phase if isinstance(entry, StackDone) else entry.phase
    left = tuple(one for one in record.stacks if one.phase != phase)
    return (*left, entry.stack) if isinstance(entry, StackDone) else left


def name_kept_workflow(name: str) -> str:
    """Return the name of a workflow's release state in `kept`."""
    return f"workflow/{name}"


def name_workflow_output(name: str) -> str:
    return f"workflow_{name}"


def _apply_workflow_change(record: Record, entry: WorkflowChange) -> Record:
    """Apply the change. A deleted workflow has no release state and no output."""
    name = entry.name if isinstance(entry, WorkflowGone) else entry.workflow.name
    left = [one for one in record.workflows if one.name != name]
    if isinstance(entry, WorkflowDone):
        rows = sorted((*left, entry.workflow), key=lambda one: one.name)
        return replace(record, workflows=tuple(rows))
    return replace(
        record,
        workflows=tuple(left),
        history=tuple(_forget_version(one, name) for one in record.history),
        kept=tuple(pair for pair in record.kept if pair[0] != name_kept_workflow(name)),
        outputs=tuple(pair for pair in record.outputs if pair[0] != name_workflow_output(name)),
    )


def _forget_version(one: Deployment, name: str) -> Deployment:
    """Mark the versions of a deleted workflow, which cannot be restored."""
    if all(row.name != name for row in one.workflows):
        return one
    rows = (replace(row, version="") if row.name == name else row for row in one.workflows)
    return replace(one, workflows=tuple(rows))


def mark_intents_unknown(record: Record) -> Record:
    """Mark the functions of a dead run's intents as unknown, because its calls can have
    succeeded."""
    if record.mode is Mode.SIMULATED:
        return record
    for intent in record.pending:
        for name in list_intent_functions(record, intent):
            record = apply_change(record, FunctionUnsure(intent.task, name))
    if not record.pending:
        return record
    kept = add_doubt(record.kept) if record.mode is Mode.REAL else record.kept
    return replace(record, release_key="", kept=kept)


def add_doubt(kept: Pairs) -> Pairs:
    """Mark the release state as uncertain: it lists where to search."""
    return (*(pair for pair in kept if pair != RELEASE_UNCERTAIN), RELEASE_UNCERTAIN)


def record_failed_release(task: str, record: Record) -> ReleaseDone:
    """Record a failed release, of which any part can have been done."""
    return ReleaseDone(task, record.endpoint, record.outputs, "", add_doubt(record.kept))


_WITHOUT_FUNCTIONS = (Operation.RELEASE, Operation.LAYER, Operation.STACK, Operation.WORKFLOW)


def list_intent_functions(record: Record, intent: Intent) -> list[str]:
    """List the functions of an intent. An intent without names means all."""
    if intent.operation in _WITHOUT_FUNCTIONS:
        return []
    named = [name for name in intent.function.split(",") if name]
    return named or [one.name for one in record.functions]


def settle_intent(record: Record, task: str) -> Record:
    """Remove the intent of a task whose outcome is known."""
    return replace(record, pending=tuple(one for one in record.pending if one.task != task))


def encode_entry(entry: RecordChange) -> Document:
    document: Document = to_builtins(entry)
    if isinstance(entry, FunctionDone):
        document["function"] = encode_function_record(entry.function)
    elif isinstance(entry, UnitDone | ReleaseDone):
        document["outputs"] = dict(entry.outputs)
    if isinstance(entry, ReleaseDone):
        document["kept"] = dict(entry.kept)
        if not entry.kept:  # as those write it who know of none
            del document["kept"]
    return document


class _Done(Struct, frozen=True, tag_field="kind", tag="done"):
    task: str
    function: FunctionDocument


class _Unit(Struct, frozen=True, tag_field="kind", tag="unit"):
    task: str
    outputs: dict[str, str]


class _Release(Struct, frozen=True, tag_field="kind", tag="release"):
    task: str
    endpoint: str
    outputs: dict[str, str]
    key: str
    kept: dict[str, str] = {}


_Stored: TypeAlias = _Done | FunctionGone | FunctionUnsure | _Unit | _Release | PartChange


def decode_entry(document: object) -> RecordChange:
    """Decode an entry. Raises a ValidationError if invalid."""
    found: _Stored = convert(document, _Stored)
    match found:
        case _Done(task, function):
            return FunctionDone(task, decode_function_record(function))
        case _Unit(task, outputs):
            return UnitDone(task, tuple(outputs.items()))
        case _Release(task, endpoint, outputs, key, kept):
            return ReleaseDone(task, endpoint, tuple(outputs.items()), key, tuple(kept.items()))
        case _:
            return found
