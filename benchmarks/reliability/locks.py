"""Many processes deploy one project at the same time, each its own function."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.reliability.field import REF, Field, new_field
from benchmarks.reliability.tally import Tally
from benchmarks.reliability.warm import Ended, Warm, warmed
from fabric.model.backends import BackendKind
from fabric.model.records.record import Record
from fabric.state.backends.registry import open_backend
from fabric.state.records.transaction import read_unlocked
from fabric.state.store import RecordStore
from tests.support.servers.moto import BUCKET, KEYS, moto

COUNT = 50
PROCESSES = 8
BACKENDS = ("local", "sql", "objstore1")
# Only one can make the folder: a second holder finds it and says so.
_TOOL = """#!/bin/sh
mkdir "{folder}/inside" || echo "$FABRIC_FUNCTION" >> "{folder}/double"
echo "$FABRIC_FUNCTION" >> "{folder}/entered"
rmdir "{folder}/inside"
echo '{{"endpoint": "https://live.example"}}'
"""


@dataclass(frozen=True, slots=True)
class _Arena:
    field: Field
    folder: Path
    kind: BackendKind
    settings: Mapping[str, str]

    def record(self) -> Record | None:
        stores = open_backend(self.kind, dict(self.settings), self.field.env, self.field.home)
        try:
            return read_unlocked(RecordStore(self.field.home, stores), REF)
        finally:
            stores.close()

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().split() if path.exists() else []


def run(count: int, folder: Path, backends: tuple[str, ...] = BACKENDS) -> Tally:
    """`count` deploys by each process, over each back end."""
    wrong: list[str] = []
    for backend in backends:
        wrong += (f"{backend}: {one}" for one in _over(backend, count, folder / backend))
    total = count * PROCESSES * len(backends)
    told = {"processes": PROCESSES, "back ends": len(backends)}
    return Tally("locks", total, tuple(wrong), told)


def _over(backend: str, count: int, folder: Path) -> list[str]:
    folder.mkdir()
    if backend != "objstore1":
        return list(_contended(_arena(folder, BackendKind(backend), {}, {}), count))
    (folder / "moto").mkdir()
    with moto(folder / "moto") as server:
        env = {**KEYS, "OBJSTORE1_ENDPOINT_URL": server.endpoint}
        settings = {"objstore1Bucket": BUCKET}
        return list(_contended(_arena(folder, BackendKind.OBJSTORE1, settings, env), count))


def _arena(
    folder: Path, kind: BackendKind, settings: Mapping[str, str], env: Mapping[str, str]
) -> _Arena:
    field, tool = new_field(folder / "field", PROCESSES), folder / "tool"
    rows = "".join(f", {name}: {value}" for name, value in settings.items())
    config = field.made.root / "fabric.yml"
    config.write_text(f"{config.read_text()}backend: {{kind: {kind.value}{rows}}}\n")
    tool.write_text(_TOOL.format(folder=folder))
    tool.chmod(0o755)
    real = {"FABRIC_CLOUD1_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": str(tool)}
    return _Arena(replace(field, env={**env, **real}), folder, kind, settings)


def _contended(arena: _Arena, count: int) -> Iterator[str]:
    """Each process starts its next deploy as soon as its last one ended."""
    learn = [(arena.field.place, ("deploy", "--json", "--lock-timeout", "1s"))]
    left = dict.fromkeys(arena.field.versions, count)
    fences: list[int] = []
    with warmed(arena.folder / "warm", learn) as warm:
        running = {_next(arena, warm, name, left): name for name in left}
        while running:
            number, ended = warm.next()
            name = running.pop(number)
            yield from _badly_ended(name, ended)
            record = arena.record()
            fences.append(record.fence if record else 0)
            if left[name]:
                running[_next(arena, warm, name, left)] = name
    yield from _disorder(arena, fences, count)


def _next(arena: _Arena, warm: Warm, name: str, left: dict[str, int]) -> int:
    arena.field.edit(name, f"left {left[name]}")
    left[name] -= 1
    words = ("deploy", "--json", "--function", name, "--lock-timeout", "120s")
    return warm.start(arena.field.place, *words)


def _badly_ended(name: str, ended: Ended) -> Iterator[str]:
    if ended.code != 0:
        yield f"a deploy of {name} ended with {ended.code}: {ended.out[-400:]}{ended.err[-400:]}"


def _disorder(arena: _Arena, fences: list[int], count: int) -> Iterator[str]:
    """Nothing lost, nobody together, and fences that make one chain."""
    record, total = arena.record(), count * PROCESSES
    for name in arena.lines("double"):
        yield f"{name} was deployed while somebody else was"
    if len(arena.lines("entered")) < total:
        yield f"{len(arena.lines('entered'))} deploys of {total} reached the tool"
    if fences != sorted(fences):
        yield f"fences went back: {fences}"
    if record is None or len(record.functions) != PROCESSES or record.pending:
        yield f"the record is not whole: {record}"
        return
    for name, version in arena.field.versions.items():
        found = record.function(name)
        if found is None or version not in arena.field.source(found):
            yield f"the record does not have {name} at {version}"
