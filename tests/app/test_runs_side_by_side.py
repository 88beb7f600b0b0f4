"""Many runs in one process: what they leave is what the same runs leave one after the other."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from fabric.app.build import build
from fabric.app.deploy.deploy import DeployOptions, deploy
from fabric.app.plan import PlanOptions, plan
from fabric.app.request import Request, Where
from fabric.app.running.cancellable_run import CancellableRun
from fabric.app.running.run_graph import generate_run_id
from fabric.app.settings import Settings
from fabric.engine.bus import Listener, RunInfo
from fabric.engine.listeners.journal import RunJournal
from fabric.model.names import Verb
from fabric.model.problems import ExitCode, FabricError
from fabric.model.report import Report, make_failure_report
from fabric.system.clock import SystemClock
from fabric.system.crypto.randomness import generate_token
from tests.support.project import PYTHON, PYTHON_SOURCES, TYPESCRIPT, TYPESCRIPT_SOURCES
from tests.support.tool import Tool
from tests.support.until import until
from tests.support.use_cases import Workplace, workplace

COMMANDED = """\
service: shop
provider: {name: host1, runtime: python3.11}
functions: [{name: one, entry: src/one.handler}]
build: {command: [sh, -c, 'cp src/*.py $FABRIC_OUT_DIR']}
"""
SHAPES = {
    "python": {"fabric.yml": PYTHON, **PYTHON_SOURCES},
    "other": {"fabric.yml": PYTHON.replace("shop", "other"), **PYTHON_SOURCES},
    "bundled": {"fabric.yml": TYPESCRIPT, **TYPESCRIPT_SOURCES},
    "commanded": {"fabric.yml": COMMANDED, **PYTHON_SOURCES},
}
STAGES = ("dev", "prod")
SECONDS = 60.0
UseCase: TypeAlias = Callable[[Workplace], Report]


def journals(info: RunInfo) -> Sequence[Listener]:
    return [RunJournal(info.home / "runs", info.run)]


def settings_of(place: Workplace) -> Settings:
    return place.settings


def built(place: Workplace) -> Report:
    return build(Request(Verb.BUILD, "build"), settings_of(place), journals)


def packaged(place: Workplace) -> Report:
    return build(Request(Verb.PACKAGE, "package"), settings_of(place), journals)


def planned(place: Workplace) -> Report:
    return plan(Request(Verb.DEPLOY, "plan"), PlanOptions(), settings_of(place))


def deployed_to(stage: str, seconds: float = SECONDS) -> UseCase:
    def deployed(place: Workplace) -> Report:
        request = Request(Verb.DEPLOY, "deploy", Where(stage=stage))
        return deploy(request, settings_of(place), DeployOptions(lock_timeout=seconds), journals)

    return deployed


FIVE: tuple[UseCase, ...] = (built, packaged, planned, *map(deployed_to, STAGES))


class HeldUseCase:
    """A use case in a thread of its own, as somebody who holds it would call it."""

    def __init__(self, place: Workplace, use_case: UseCase) -> None:
        self.id = generate_run_id(SystemClock(), generate_token)
        self.held = CancellableRun(self.id)
        self.reports: list[Report] = []
        self._place, self._use_case = place, use_case
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        with self.held.hold():
            try:
                self.reports.append(self._use_case(self._place))
            except FabricError as error:
                self.reports.append(make_failure_report("deploy", error))

    @property
    def report(self) -> Report:
        self._thread.join(SECONDS)
        (report,) = self.reports
        return report


def places(folder: Path) -> list[Workplace]:
    made = [Workplace(folder / name) for name in SHAPES]
    for place, files in zip(made, SHAPES.values(), strict=True):
        place.root.mkdir(parents=True)
        place.write(files)
    return made


def digests(place: Workplace) -> dict[str, str]:
    """All that is shown of what was made."""
    folder = place.root / ".fabric/build"
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }


def documents(paths: Iterable[Path]) -> list[Any]:
    return [json.loads(path.read_text()) for path in sorted(paths)]


def records(place: Workplace) -> list[Any]:
    """What is live, without what chance and time gave each of them."""
    found = documents((place.root / ".fabric/state").rglob("*.state.json"))
    kept = ("service", "stage", "provider", "mode", "lifecycle", "pending")
    return [
        ([one[name] for name in kept], [row["artifactSha256"] for row in one["functions"]])
        for one in found
    ]


def receipts(place: Workplace) -> list[Any]:
    found = documents(place.root / f".fabric/{stage}.json" for stage in STAGES)
    return [
        [
            (row["service"], row["mode"], row["endpoint"], row["artifacts"])
            for row in one["deployments"]
        ]
        for one in found
    ]


def stories(place: Workplace) -> list[list[str]]:
    """The journals: each of one run, without a gap, from its start to its end."""
    told = []
    for path in (place.root / ".fabric/runs").iterdir():
        events = [json.loads(line) for line in path.read_text().splitlines()][1:]
        assert {one["run"] for one in events} == {path.stem}
        assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
        assert [one["type"] for one in (events[0], events[-1])] == ["run_started", "run_ended"]
        told.append([events[0]["command"], events[0]["stage"], events[-1]["status"]])
    return sorted(told)


def leftovers(place: Workplace) -> list[str]:
    own = place.root / ".fabric"
    kinds = ("**/*.tmp", "cache/running/*", "wal/**/*.log", "errored/**/*", "unsure/**/*")
    return [str(path) for kind in kinds for path in own.glob(kind)]


def locks(place: Workplace) -> list[bool]:
    """Whether each of them is free."""
    found = documents((place.root / ".fabric/state/.locks").rglob("*.json"))
    assert found
    return [bool(one.get("free")) for one in found]


@pytest.mark.slow
def test_parallel_runs_leave_the_same_files_as_sequential_runs(tmp_path: Path) -> None:
    calm, crowd = places(tmp_path / "calm"), places(tmp_path / "crowd")
    for place in calm:
        assert [one(place).exit_code for one in FIVE] == [ExitCode.OK] * len(FIVE)
    runs = [HeldUseCase(place, one) for one in FIVE for place in crowd]
    assert [one.report.problems for one in runs] == [()] * 20
    for one, other in zip(calm, crowd, strict=True):
        for seen in (digests, records, receipts, stories):
            assert seen(other) == seen(one), seen.__name__
            assert seen(one), seen.__name__
        assert leftovers(other) == []
        assert all(locks(other))
    # Nothing was torn: what they remember together is taken for what it is.
    for place in crowd:
        assert [one(place).exit_code for one in FIVE] == [ExitCode.OK] * len(FIVE)
        assert place.plan().summary.run == 0


def hanging_deploy(folder: Path) -> tuple[Workplace, Tool, HeldUseCase]:
    """A deploy that holds its lock: the provider does not answer yet."""
    tool = Tool(folder / "tool")
    tool.waits()
    place = workplace(folder / "shop", **tool.env())
    first = HeldUseCase(place, deployed_to("dev"))
    until(lambda: tool.is_running)
    return place, tool, first


def test_second_deploy_of_a_service_and_stage_reports_the_lock_holder(
    tmp_path: Path,
) -> None:
    place, tool, first = hanging_deploy(tmp_path)
    second = HeldUseCase(place, deployed_to("dev", 0)).report
    assert second.exit_code is ExitCode.LOCKED
    assert second.problems[0].code == "lock/held"
    tool.answers({"endpoint": "https://live.example"})
    assert first.report.problems == ()
    assert len(tool.calls) == 1
    assert leftovers(place) == []


@pytest.mark.slow
def test_of_two_deploys_of_one_service_and_stage_the_second_waits(tmp_path: Path) -> None:
    place, tool, first = hanging_deploy(tmp_path)
    second = HeldUseCase(place, deployed_to("dev"))
    until(lambda: "lock/waiting" in told(place, second.id))
    tool.answers({"endpoint": "https://live.example"})
    assert [one.report.problems for one in (first, second)] == [(), ()]
    ((kept, _),) = records(place)
    assert kept[-2:] == ["deployed", []]
    assert leftovers(place) == []
    assert all(locks(place))


def told(place: Workplace, run: str) -> str:
    path = place.root / f".fabric/runs/{run}.jsonl"
    return path.read_text() if path.exists() else ""


def test_killed_deploy_does_not_affect_a_parallel_deploy(tmp_path: Path) -> None:
    place, tool, first = hanging_deploy(tmp_path / "one")
    other, its_tool, second = hanging_deploy(tmp_path / "two")
    first.held.cut()
    assert first.report.exit_code is ExitCode.INTERRUPTED
    until(lambda: not tool.is_running)
    assert its_tool.is_running
    its_tool.answers({"endpoint": "https://live.example"})
    assert second.report.problems == ()
    assert [all(locks(one)) for one in (place, other)] == [True, True]
