"""Deploys, removals and ways back by value: a request and settings in, an outcome out."""

import datetime
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabric.app.deploy.deploy import DeployOptions
from fabric.app.deploy.rollback import RollbackOptions, select_target
from fabric.model.outcomes.deployed import DeployOutcome, ServiceAt
from fabric.model.problems import ExitCode, FabricError
from fabric.system.clock import SystemClock
from tests.support.project import handler
from tests.support.records import record
from tests.support.tool import Tool
from tests.support.use_cases import Workplace, workplace

SHOP = ServiceAt("shop", "cloud1-lambda")


@dataclass(frozen=True)
class ShiftedClock:
    """The system's clock in another year."""

    days: int

    def monotonic(self) -> float:
        return SystemClock().monotonic()

    def now(self) -> datetime.datetime:
        return SystemClock().now() + datetime.timedelta(days=self.days)


def statuses(outcome: DeployOutcome) -> dict[str, str]:
    return {one.name: one.status for row in outcome.deployments for one in row.functions}


def edited(made: Workplace, name: str = "two") -> Workplace:
    made.write({f"src/{name}.py": handler("newer")})
    return made


def test_a_first_deploy_makes_everything(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    outcome = made.deploy()
    assert statuses(outcome) == {"one": "created", "two": "created"}
    assert (outcome.stage, outcome.rolled_back, outcome.summary.failed) == ("dev", False, 0)
    assert made.ran[0] == "build:shop/one"
    assert made.ran[-1] == "release:shop@cloud1-lambda"


def test_second_deploy_runs_no_task_and_emits_no_task_events(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    made.deploy()
    outcome = made.deploy()
    assert statuses(outcome) == {"one": "unchanged", "two": "unchanged"}
    assert (outcome.summary.ran, made.ran) == (0, [])


def test_an_edit_reaches_its_function_and_the_release(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    made.deploy()
    assert statuses(edited(made).deploy()) == {"one": "unchanged", "two": "updated"}
    assert "deploy:shop/one@cloud1-lambda" not in made.ran
    assert "package:shop/one" not in made.ran


def test_with_force_all_is_deployed_and_nothing_built(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    made.deploy()
    assert statuses(made.deploy(DeployOptions(force=True))) == {"one": "updated", "two": "updated"}
    assert not any(task.startswith(("build:", "package:")) for task in made.ran)


def test_plan_matches_the_following_deploy(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    assert made.plan().summary.create == 2
    made.deploy()
    assert made.plan().summary.run == 0
    planned = edited(made).plan()
    (service,) = planned.services
    assert {one.name: one.change for one in service.functions} == {"one": "none", "two": "update"}
    made.deploy()
    assert {task.id for task in planned.tasks if task.action == "run"} <= set(made.ran)


def test_stages_are_independent(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    made.deploy()
    assert statuses(made.deploy(stage="prod")) == {"one": "created", "two": "created"}
    made.remove()
    assert made.plan(stage="prod").summary.run == 0
    assert made.plan().summary.create == 2


def test_removed_service_is_absent_on_second_remove(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    made.deploy()
    assert made.remove().removed == (SHOP,)
    again = made.remove()
    assert (again.removed, again.absent) == ((), (SHOP,))


def test_real_deployment_is_removed_only_after_confirmation(tmp_path: Path) -> None:
    tool = Tool(tmp_path / "tool")
    made = workplace(tmp_path / "shop", **tool.env())
    made.deploy()
    with pytest.raises(FabricError):
        made.remove(agrees=False)
    assert [call["argv"] for call in tool.calls] == [[]]
    assert made.remove().removed == (SHOP,)
    assert tool.calls[-1]["argv"] == ["destroy"]


def test_rollback_needs_neither_sources_nor_cache(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    first = made.deploy().deployments[0].deployment_id
    second = edited(made).deploy().deployments[0].deployment_id
    shutil.rmtree(tmp_path / "src")
    shutil.rmtree(tmp_path / ".fabric" / "cache")
    back = made.rollback()
    assert (back.before, back.to, back.functions) == (second, first, ("one", "two"))
    with pytest.raises(FabricError) as caught:
        made.rollback("nope")
    assert caught.value.first.code == "rollback/unknown"


def test_a_rollback_after_a_failed_first_deploy_finds_no_earlier_one() -> None:
    first = record(deployment_id="", history=())
    with pytest.raises(FabricError, match="no earlier deployment found"):
        select_target({first.ref: first}, RollbackOptions())


def test_releases_are_stamped_by_the_clock_that_was_given(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    made.clock = ShiftedClock(-5000)
    made.deploy()
    made.clock = ShiftedClock(0)
    edited(made).deploy()
    newest, oldest = made.releases().releases
    assert (newest.current, oldest.current) == (True, False)
    days = datetime.datetime.fromisoformat(newest.updated_at) - datetime.datetime.fromisoformat(
        oldest.updated_at
    )
    assert days.days == 5000


@pytest.mark.parametrize("back", [True, False])
def test_failed_deploy_is_rolled_back_only_when_requested(tmp_path: Path, *, back: bool) -> None:
    tool = Tool(tmp_path / "tool")
    made = workplace(tmp_path / "shop", **tool.env())
    tool.fails_once()
    report = made.deploys(DeployOptions(rollback=back))
    assert report.exit_code is ExitCode.FAILED
    assert isinstance(report.outcome, DeployOutcome)
    assert report.outcome.rolled_back is back
    assert report.problems[0].code == "deploy/command-failed"
    assert [call["argv"] for call in tool.calls] == [[], ["destroy"]] if back else [[]]


def test_all_that_a_build_made_is_taken_by_the_deploy(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    assert {one.function for one in made.build().artifacts} == {"one", "two"}
    made.deploy()
    assert not any(task.startswith("build:") for task in made.ran)
