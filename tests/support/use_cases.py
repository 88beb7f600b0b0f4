"""Use cases of `fabric.app` called as they are: a request and settings in, an outcome out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from fabric.app.build import build
from fabric.app.deploy.deploy import DeployOptions, deploy
from fabric.app.deploy.remove import RemoveOptions, remove
from fabric.app.deploy.rollback import RollbackOptions, report_releases, rollback
from fabric.app.plan import PlanOptions, plan
from fabric.app.request import Request, Where
from fabric.app.settings import Settings
from fabric.engine.bus import Listener, RunInfo
from fabric.model.names import Verb
from fabric.model.outcomes.built import BuildOutcome
from fabric.model.outcomes.deployed import (
    DeployOutcome,
    ReleasesOutcome,
    RemoveOutcome,
    RollbackOutcome,
)
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.outcomes.planned import PlanOutcome
from fabric.model.report import Report
from fabric.model.runs.events import TaskEnded
from fabric.system.clock import Clock, SystemClock
from tests.support.fakes import Heard
from tests.support.project import PYTHON, PYTHON_SOURCES, environment
from tests.support.seals import GIVEN_KEY
from tests.support.until import a_tick

AnOutcome = TypeVar("AnOutcome", bound=JsonStruct)


@dataclass
class Workplace:
    """A folder with a service in it; `heard` are the events of the last run."""

    root: Path
    env: Mapping[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)
    heard: Heard = field(default_factory=Heard)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    @property
    def ran(self) -> list[str]:
        ends = (one for one in self.heard.events if isinstance(one, TaskEnded))
        return sorted(one.task for one in ends if one.status == "ran")

    @property
    def settings(self) -> Settings:
        a_tick(self.root)
        self.heard.events.clear()
        return Settings(
            env=environment(self.root, self.env),
            cwd=self.root,
            cores=2,
            stdout_is_terminal=False,
            stderr_is_terminal=False,
            clock=self.clock,
            withheld=GIVEN_KEY,
        )

    def build(self, verb: Verb = Verb.BUILD) -> BuildOutcome:
        report = build(Request(verb, verb.value), self.settings, self._listeners)
        return outcome_of(report, BuildOutcome)

    def plan(self, stage: str = "") -> PlanOutcome:
        request = Request(Verb.DEPLOY, "plan", Where(stage=stage))
        return outcome_of(plan(request, PlanOptions(), self.settings), PlanOutcome)

    def deploys(self, options: DeployOptions | None = None, stage: str = "") -> Report:
        request = Request(Verb.DEPLOY, "deploy", Where(stage=stage))
        return deploy(request, self.settings, options or DeployOptions(), self._listeners)

    def deploy(self, options: DeployOptions | None = None, stage: str = "") -> DeployOutcome:
        return outcome_of(self.deploys(options, stage), DeployOutcome)

    def remove(self, *, agrees: bool = True) -> RemoveOutcome:
        options = RemoveOptions(0, lambda _: agrees)
        request = Request(Verb.DEPLOY, "remove")
        return outcome_of(remove(request, self.settings, options, self._listeners), RemoveOutcome)

    def rollback(self, to: str = "") -> RollbackOutcome:
        request = Request(Verb.DEPLOY, "rollback")
        report = rollback(request, self.settings, RollbackOptions(to), self._listeners)
        return outcome_of(report, RollbackOutcome)

    def releases(self) -> ReleasesOutcome:
        report = report_releases(Request(Verb.DEPLOY, "releases"), self.settings)
        return outcome_of(report, ReleasesOutcome)

    def _listeners(self, info: RunInfo) -> Sequence[Listener]:
        del info
        return [self.heard]


def outcome_of(report: Report, kind: type[AnOutcome]) -> AnOutcome:
    assert report.problems == ()
    assert isinstance(report.outcome, kind)
    return report.outcome


def workplace(folder: Path, **env: str) -> Workplace:
    """A service with two Python functions, `one` and `two`."""
    made = Workplace(folder, env)
    made.write({"fabric.yml": PYTHON, **PYTHON_SOURCES})
    return made
