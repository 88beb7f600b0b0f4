"""Scopes of a deploy with real records in a directory, and without builds or providers."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from fabric.app.project.compiled import Compiled, CompiledReads
from fabric.app.project.placement import Placement
from fabric.app.records.scope import DeployScope, ScopeOptions, open_deploy_scope
from fabric.app.settings import Settings
from fabric.engine.result import Outcome, RunResult, Status
from fabric.graph.build_graph import build_graph
from fabric.model.project_info import ProjectInfo
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.records.record_json import encode
from fabric.model.task import Task
from fabric.state.backends.local import Local
from fabric.state.contract import build_state_key
from tests.support.records import record


def settings(folder: Path, **env: str) -> Settings:
    values = MappingProxyType(env)
    return Settings(values, folder, 2, stdout_is_terminal=False, stderr_is_terminal=False)


def placement(
    folder: Path,
    service: str = "shop",
    provider: str = "cloud1-lambda",
    mode: Mode = Mode.SIMULATED,
    labels: tuple[str, ...] = (),
) -> Placement:
    return Placement(
        service=service,
        stage="dev",
        provider=provider,
        provider_id=provider,
        region="",
        mode=mode.value,
        folder=str(folder),
        home=str(folder / ".fabric"),
        backend="local",
        settings=(),
        labels=labels,
    )


def deployed(service: str = "shop", provider: str = "cloud1-lambda") -> Record:
    return replace(record(provider=provider), ref=RecordRef(service, "dev", provider))


def store(folder: Path, *records: Record) -> None:
    """Write records as an earlier run did."""
    backend = Local(folder / ".fabric" / "state")
    for one in records:
        backend.write(build_state_key(one.ref), encode(one), None)


def stored(folder: Path, ref: RecordRef) -> bytes | None:
    found = Local(folder / ".fabric" / "state").read(build_state_key(ref))
    return found.content if found else None


@contextlib.contextmanager
def scope(folder: Path, *placements: Placement, **env: str) -> Iterator[DeployScope]:
    with open_deploy_scope(placements, settings(folder, **env), ScopeOptions()) as found:
        yield found


def compiled(tasks: Sequence[Task], *, is_part: bool = False) -> Compiled:
    reads = CompiledReads(frozenset(), frozenset())
    graph = build_graph(tasks)
    return Compiled(ProjectInfo("/nowhere", "dev"), graph, (), reads, is_part=is_part)


def result_of(tasks: Sequence[Task], *statuses: Status, interrupted: bool = False) -> RunResult:
    """A run of tasks in their order, each with its status."""
    graph = build_graph(tasks)
    by_id = {task.id: status for task, status in zip(tasks, statuses, strict=True)}
    outcomes = tuple(Outcome(by_id[one], "because", ms=5) for one in graph.ids)
    return RunResult(graph, outcomes, 1, interrupted=interrupted)
