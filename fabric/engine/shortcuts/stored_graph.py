"""A compiled graph as plain values, used while all its sources are unchanged.

Deletable: without it configs are read again. Tasks stay packed until used.
"""

import json
import marshal
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.json import decode, encode

from fabric import manifest
from fabric.engine.memory.file_index import is_racy, is_settled
from fabric.engine.memory.memo import SealedPath
from fabric.engine.shortcuts.packing import Kinds, LazySequence, pack_info, pack_inputs, unpack_info
from fabric.graph.taskgraph import TaskGraph
from fabric.model.outcomes.planned import PlannedService
from fabric.model.problems import FabricError
from fabric.model.project_info import ProjectInfo
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.system.clock import read_file_time_ns
from fabric.system.files.disk import read_bytes, write_atomic

_SUFFIX = ".graph"
_FIELDS = 11


# The id, the kind, the fields of the inputs, and the ids of the needs.
PackedTask: TypeAlias = tuple[str, str, tuple[Any, ...], tuple[str, ...]]


class StoredGraph(Struct, frozen=True):
    """The result of reading all files.

    `names` are variables; `sources` are paths, existing or not.
    """

    info: ProjectInfo
    graph: TaskGraph
    services: tuple[PlannedService, ...]
    sources: frozenset[str]
    names: frozenset[str]
    # Locate records in plain values.
    placements: tuple[Any, ...] = ((), ())


def _unpack_tasks(records: Sequence[PackedTask], kinds: Kinds) -> Sequence[Task]:
    made: dict[int, Task] = {}

    def unpack_task(number: int) -> Task:
        found = made.get(number)
        if found is None:
            task_id, kind, values, needs = records[number]
            inputs = kinds[kind](*values)
            found = made[number] = Task(TaskId(task_id), inputs, tuple(map(TaskId, needs)))
        return found

    return LazySequence(len(records), unpack_task)


def load(
    cache: SealedPath, asked: Sequence[str], env: Mapping[str, str], kinds: Kinds
) -> StoredGraph | None:
    try:
        name = _name(asked)
        content = cache.seal.unseal(name, read_bytes(f"{cache.path}/{manifest.FOLDER}/{name}"))
        found = marshal.loads(content) if content else None  # noqa: S302: sealed by us
    except (OSError, ValueError, EOFError, TypeError):
        return None
    if not isinstance(found, tuple) or len(found) != _FIELDS or found[0] != manifest.FORMAT:
        return None
    _, salt, digest, names, paths, stats, absent, info, services, placements, packed = found
    if _hash_environment(salt, asked, names, env) != digest or not _is_unchanged(
        paths, stats, absent
    ):
        return None
    records, needs, levels = packed
    ids = tuple(TaskId(record[0]) for record in records)
    graph = TaskGraph(_unpack_tasks(records, kinds), ids, needs, levels)
    rows = decode(services, type=tuple[PlannedService, ...])
    sources = frozenset((*paths, *absent))
    return StoredGraph(
        info=unpack_info(info),
        graph=graph,
        services=rows,
        sources=sources,
        names=frozenset(names),
        placements=placements,
    )


def save(
    cache: SealedPath,
    asked: Sequence[str],
    env: Mapping[str, str],
    kept: StoredGraph,
    started_ns: int,
) -> None:
    """Save the graph, unless a source changed since the command began."""
    paths = sorted(path for path in kept.sources if os.path.lexists(path))
    absent = sorted(kept.sources - set(paths))
    try:
        stats = manifest.stats_of(paths)
    except OSError:
        return
    if any(is_racy(path, started_ns) for path in paths):
        return
    if not is_settled(manifest.changes_of(stats), lambda: read_file_time_ns(cache.path)):
        return
    salt = os.urandom(16)
    names = sorted(kept.names)
    digest = _hash_environment(salt, asked, names, env)
    info = pack_info(kept.info)
    services = encode(kept.services).decode()
    packed: Any = (
        manifest.FORMAT, salt, digest, names, paths, stats, absent, info, services,
        kept.placements,
        (tuple(map(_record, kept.graph.tasks)), kept.graph.needs, kept.graph.level_of),
    )  # fmt: skip
    try:
        name = _name(asked)
        content = cache.seal.seal(name, marshal.dumps(packed))
        write_atomic(f"{cache.path}/{manifest.FOLDER}/{name}", content, mode=0o600)
    except FabricError:
        return


def keep_newest(folder: Path, count: int) -> None:
    """Delete all but the newest graphs, so that a server of many configs does not fill the disk."""
    found = [one for one in Path(folder, manifest.FOLDER).glob(f"*{_SUFFIX}") if one.is_file()]
    if len(found) <= count:
        return
    by_age = sorted((one.stat().st_mtime_ns, one) for one in found)
    for _, path in by_age[: len(found) - count]:
        path.unlink(missing_ok=True)


def _record(task: Task) -> PackedTask:
    return str(task.id), task.kind, pack_inputs(task), tuple(map(str, task.needs))


def _name(asked: Sequence[str]) -> str:
    return f"{manifest.file_name(asked, '')}{_SUFFIX}"


def _hash_environment(
    salt: bytes, asked: Sequence[str], names: Sequence[str], env: Mapping[str, str]
) -> bytes:
    """A salted digest of the request, the versions and the variables: some of these are secrets."""
    chosen = sorted({*names, *(name for name in env if name.startswith("FABRIC_"))})
    values = [f"{name}={env[name]}" if name in env else name for name in chosen]
    text = json.dumps([manifest.FORMAT, manifest.VERSION, list(asked), values])
    return manifest.sha256(salt + text.encode("utf-8", "surrogateescape"))


def _is_unchanged(paths: Sequence[str], stats: bytes, absent: Sequence[str]) -> bool:
    try:
        same = manifest.stats_of(paths) == stats
    except OSError:
        return False
    return same and not any(map(os.path.lexists, absent))
