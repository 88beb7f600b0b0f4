"""How live functions were built, kept beside their record.

A machine that never built them can tell from it, without a build, that nothing is to be done.
"""

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from fabric.app.room import Room
from fabric.app.world import World
from fabric.engine.elsewhere import MadeElsewhere, Traces
from fabric.engine.ledger import Ledger, decode_traces, encode_trace
from fabric.graph.taskgraph import TaskGraph
from fabric.model.names import TaskId
from fabric.model.records import Record, RecordRef
from fabric.state.contract import MovedError, traces_key
from fabric.state.shelf import Shelf

_PACKAGE = "package:"
Document = dict[str, dict[str, Any]]


def made_elsewhere(room: Room, graph: TaskGraph, world: World) -> MadeElsewhere:
    """What other machines learned, of tasks of which this one knows nothing itself."""
    ledger = room.stores.ledger
    found: dict[TaskId, Traces] = {}
    strange = _strange(ledger, graph)
    for ref in world.posts:
        if ref.service not in strange or world.book.record(ref) is None:
            continue
        for tasks in _document(world.book.shelf(ref), ref).values():
            for name, encoded in tasks.items():
                if not ledger.traces(TaskId(name)):
                    found[TaskId(name)] = decode_traces([encoded])
    return MadeElsewhere(found, frozenset(found))


def _strange(ledger: Ledger, graph: TaskGraph) -> set[str]:
    """The services of which some function was never packaged here."""
    packages = (one for one in graph.ids if one.startswith(_PACKAGE))
    return {
        one.removeprefix(_PACKAGE).partition("/")[0] for one in packages if not ledger.traces(one)
    }


Makers = Mapping[str, tuple[TaskId, ...]]


def keep_traces(ledger: Ledger, makers: Makers, shelf: Shelf, final: Record) -> None:
    """After a deploy; a document that somebody else just wrote is left to them."""
    ref = final.ref
    stored = shelf.stores.state.read(traces_key(ref))
    before = _parsed(stored.content if stored else b"")
    learned = {
        one.name: _learned(ledger, makers.get(f"{_PACKAGE}{ref.service}/{one.name}", ()))
        for one in final.functions
    }
    document = {name: tasks or before.get(name, {}) for name, tasks in learned.items()}
    if document == before:
        return
    content = json.dumps(document, separators=(",", ":")).encode()
    with contextlib.suppress(MovedError):
        shelf.stores.state.write(traces_key(ref), content, stored.version if stored else None)


def makers_of(graph: TaskGraph) -> Makers:
    """The tasks that make each archive: its package and what that needs."""
    return {
        one: (one, *(graph.ids[need] for need in needs))
        for one, needs in zip(graph.ids, graph.needs, strict=True)
        if one.startswith(_PACKAGE)
    }


def _learned(ledger: Ledger, makers: Iterable[TaskId]) -> dict[str, Any]:
    """The newest run of every task that made an archive; nothing if one is not known."""
    found: dict[str, Any] = {}
    for task_id in makers:
        trace = next(iter(ledger.traces(task_id)), None)
        if trace is None:
            return {}
        found[task_id] = json.loads(json.dumps(encode_trace(trace)))
    return found


def _document(shelf: Shelf, ref: RecordRef) -> Document:
    stored = shelf.stores.state.read(traces_key(ref))
    return _parsed(stored.content if stored else b"")


def _parsed(content: bytes) -> Document:
    """Nothing is trusted in it: a trace only says what to compare with the files that are here."""
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    rows: Mapping[str, Any] = found
    return {name: tasks for name, tasks in rows.items() if isinstance(tasks, dict)}
