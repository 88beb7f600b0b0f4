"""Build traces of deployed functions, stored beside their record.

Another machine uses them to detect, without a build, that everything is up to date.
"""

import contextlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias

from msgspec import Struct, convert

from fabric.app.records.scope import DeployScope
from fabric.app.session import Session
from fabric.engine.memory.trace_rows import Row, decode_traces, encode_trace
from fabric.engine.memory.traces import RemoteResults, Traces, TraceStore
from fabric.engine.result import RunResult
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Look, Trace, hash_trace, trace_here
from fabric.model.records.record import Record, RecordRef
from fabric.model.task import InputEntry, Task
from fabric.model.task_id import (
    TaskId,
    is_kind,
    is_wheel,
    name_of,
    package_of,
    remove_target_suffix,
)
from fabric.model.task_inputs import DeployInputs
from fabric.state.contract import MovedError, Stored, build_traces_key
from fabric.state.store import RecordStore
from fabric.tasks.deploy_tools import get_record_ref

# The exchange format of traces beside a record, hashed with its salt.
# Only readers of the record can compare these hashes.


VERSION = 2
# Rows by function, then by task. A row that is no trace says nothing, and spoils no other one.
Document: TypeAlias = dict[str, dict[str, Row]]


class _Shared(Struct, frozen=True):
    functions: Document


def _encode_shared_trace(trace: Trace, salt: str) -> Row:
    """Encode a trace in the form that leaves this machine."""
    return encode_trace(hash_trace(trace, partial(_hash_with_salt, salt)))


def _decode_shared_trace(
    row: Row, salt: str, kind: str, entries: tuple[InputEntry, ...], look: Look
) -> Trace | None:
    """Decode a trace for comparison with local files."""
    found = next(iter(decode_traces([row])), None)
    return found and trace_here(found, partial(_hash_with_salt, salt), (kind, entries), look)


def encode_trace_document(rows: Mapping[str, Mapping[str, Row]]) -> dict[str, object]:
    return {"version": VERSION, "functions": {name: dict(tasks) for name, tasks in rows.items()}}


def decode_trace_document(content: bytes, salt: str) -> Document:
    """Decode the rows by function. Unreadable content is ignored.

    Documents of the first version contained too much data; their valid parts are upgraded.
    """
    try:
        document = json.loads(content)
        if isinstance(document, dict) and document.get("version") == VERSION:
            return convert(document, _Shared).functions
        rows = convert(document, Document)
    except (ValueError, RecursionError):
        return {}
    return {
        name: {task: new for task, old in tasks.items() if (new := _upgrade_row(old, salt))}
        for name, tasks in rows.items()
    }


def _upgrade_row(old: Row, salt: str) -> Row | None:
    trace = next(iter(decode_traces([old])), None)
    return _encode_shared_trace(trace, salt) if trace else None


def _hash_with_salt(salt: str, digest: str) -> str:
    return hmac.new(salt.encode(), digest.encode(), "sha256").hexdigest()


_PACKAGE = "package"


def import_shared_traces(session: Session, graph: TaskGraph, scope: DeployScope) -> RemoteResults:
    """Import traces of other machines, for tasks that have no local trace."""
    found: dict[TaskId, Traces] = {}
    strange = _list_unbuilt_services(session.stores.trace_store, graph)
    makers = group_archive_tasks(graph) if strange else {}
    tasks = dict(zip(graph.ids, graph.tasks, strict=True)) if strange else {}
    for ref in scope.placements:
        record = scope.record(ref)
        if ref.service not in strange or record is None:
            continue
        document = _read_trace_document(scope.transaction.record_store(ref), record)
        wheels = _list_wheel_rows(document)
        for function, row in document.items():
            for task_id in makers.get((ref, function), ()):
                told = row.get(remove_target_suffix(task_id)) or wheels.get(task_id)
                trace = told and _import_trace(session, tasks[task_id], told, record.salt)
                if trace:
                    found[task_id] = (trace,)
    return RemoteResults(found, frozenset(found))


def _import_trace(session: Session, task: Task, told: Row, salt: str) -> Trace | None:
    trace_store, memory = session.stores.trace_store, session.runner.memory
    if trace_store.traces(task.id):
        return None
    entries = (*memory.code(task), *task.inputs.entries())
    return _decode_shared_trace(told, salt, task.kind, entries, memory.look)


def _list_unbuilt_services(trace_store: TraceStore, graph: TaskGraph) -> set[str]:
    """List the services with a function that was never packaged on this machine."""
    packages = (one for one in graph.ids if is_kind(one, _PACKAGE))
    return {name_of(one).service for one in packages if not trace_store.traces(one)}


Makers = Mapping[tuple[RecordRef, str], tuple[TaskId, ...]]
Newest = Callable[[TaskId], Trace | None]


def keep_traces(newest: Newest, makers: Makers, record_store: RecordStore, final: Record) -> None:
    """Store the traces after a deploy, unless another process just wrote the document.

    Tasks have the names that a run for this target only would use.
    """
    ref, salt = final.ref, final.salt
    stored = record_store.stores.state.read(build_traces_key(ref))
    before = decode_trace_document(stored.content if stored else b"", salt)
    learned = {
        one.name: _collect_newest_traces(newest, makers.get((ref, one.name), ()), salt)
        for one in final.functions
    }
    rows = {name: tasks or before.get(name, {}) for name, tasks in learned.items()}
    _write(record_store, ref, stored, _store_wheels_once(rows))


def _list_wheel_rows(document: Document) -> Mapping[str, Row]:
    """List the rows of wheels. Functions share wheels, so any of them can have the row."""
    rows = (pair for tasks in document.values() for pair in tasks.items())
    return {task: row for task, row in rows if is_wheel(task)}


def _store_wheels_once(document: Document) -> Document:
    seen: set[str] = set()
    found: Document = {}
    for function, tasks in document.items():
        found[function] = {task: row for task, row in tasks.items() if task not in seen}
        seen.update(task for task in tasks if is_wheel(task))
    return found


def renew_traces(scope: DeployScope) -> None:
    """Upgrade old trace documents that contained too much data, when nothing else changes.

    Documents in remote backends wait for the next deploy that writes.
    """
    for ref in scope.placements:
        record_store, record = scope.transaction.record_store(ref), scope.record(ref)
        if record is not None and record_store.is_own_folder:
            stored = record_store.stores.state.read(build_traces_key(ref))
            if stored is not None:
                rows = decode_trace_document(stored.content, record.salt)
                _write(record_store, ref, stored, rows)


def _write(
    record_store: RecordStore, ref: RecordRef, stored: Stored | None, rows: Document
) -> None:
    content = json.dumps(encode_trace_document(rows), separators=(",", ":")).encode()
    if content == (stored.content if stored else b""):
        return
    with contextlib.suppress(MovedError):
        record_store.stores.state.write(
            build_traces_key(ref), content, stored.version if stored else None
        )


def group_archive_tasks(graph: TaskGraph) -> Makers:
    """Group the tasks that build each function's archive: its package, its needs, and wheels."""
    number = {one: position for position, one in enumerate(graph.ids)}
    found: dict[tuple[RecordRef, str], tuple[TaskId, ...]] = {}
    for task in graph.tasks:
        inputs = task.inputs
        for name, _, _ in inputs.functions if isinstance(inputs, DeployInputs) else ():
            package = package_of(task.needs, inputs.service, name)
            parts = graph.needs[number[package]]
            above = (graph.ids[one] for part in parts for one in graph.needs[part])
            wheels = (one for one in above if is_wheel(one))
            makers = (*(graph.ids[one] for one in parts), *wheels)
            found[get_record_ref(inputs), name] = (package, *makers)
    return found


def prefer_run_traces(result: RunResult, trace_store: TraceStore) -> Newest:
    """Prefer the traces of this run, then the latest cached trace."""
    found = {task.id: outcome.trace for task, outcome in result.rows}

    def find_newest(task_id: TaskId) -> Trace | None:
        return found.get(task_id) or next(iter(trace_store.traces(task_id)), None)

    return find_newest


def _collect_newest_traces(newest: Newest, makers: Iterable[TaskId], salt: str) -> dict[str, Row]:
    """Collect the newest trace of every task that built an archive. Returns nothing if one is
    unknown."""
    found: dict[str, Row] = {}
    for task_id in makers:
        trace = newest(task_id)
        if trace is None:
            return {}
        found[remove_target_suffix(task_id)] = _encode_shared_trace(trace, salt)
    return found


def _read_trace_document(record_store: RecordStore, record: Record) -> Document:
    """Read the trace document. It is untrusted: a trace only lists inputs to compare with local
    files."""
    stored = record_store.stores.state.read(build_traces_key(record.ref))
    return decode_trace_document(stored.content if stored else b"", record.salt)
