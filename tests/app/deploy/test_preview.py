"""Removals that a deploy adds to its graph."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.app.deploy.preview import with_removals
from fabric.model.records.record import Mode, Record, WorkflowRecord
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import WorkflowInputs
from tests.app.deploy.scopes import compiled, deployed, placement, scope, store
from tests.support.plans import service
from tests.support.records import function

TASKS = service("shop", ("hello",))
TWO = replace(deployed(), functions=(function(), function("old")))


def removals(folder: Path, one: Record, tasks: list[Task], *, is_part: bool = False) -> list[Task]:
    store(folder, one)
    provider = one.ref.provider
    with scope(folder, placement(folder, provider=provider, mode=one.mode)) as found:
        wider = with_removals(compiled(tasks, is_part=is_part), found)
    return [task for task in wider.graph.tasks if task.kind == "remove"]


def test_a_function_that_left_the_config_is_deleted_after_the_release(tmp_path: Path) -> None:
    (task,) = removals(tmp_path, TWO, TASKS)
    assert task.id == "remove:shop/old@cloud1-lambda"
    assert task.needs == ("release:shop@cloud1-lambda",)


def test_a_deleted_function_waits_for_the_deleted_workflows_of_its_service(tmp_path: Path) -> None:
    other = WorkflowInputs("other", "flow", "cloud1-lambda", "dev", Mode.REAL)
    tasks = [*TASKS, Task(TaskId("workflow:other/flow@cloud1-lambda"), other)]
    (task,) = removals(tmp_path, replace(TWO, workflows=(WorkflowRecord(name="flow"),)), tasks)
    assert "workflow:shop/flow@cloud1-lambda" in task.needs


def test_configured_functions_stay(tmp_path: Path) -> None:
    assert removals(tmp_path, TWO, service("shop", ("hello", "old"))) == []


def test_a_deploy_of_single_functions_deletes_none(tmp_path: Path) -> None:
    assert removals(tmp_path, TWO, TASKS, is_part=True) == []


def test_a_run_without_a_deploy_of_each_configured_function_deletes_none(tmp_path: Path) -> None:
    tasks = service("shop", ("hello", "new"))
    left = [task for task in tasks if task.kind != "deploy" or task.inputs.function != "new"]
    release = left[-1]
    left[-1] = replace(release, needs=tuple(need for need in release.needs if "new" not in need))
    assert removals(tmp_path, TWO, left) == []


@pytest.mark.parametrize(
    ("provider_id", "mode", "count"),
    [
        ("cloud1-lambda", Mode.REAL, 1),
        ("cloud1-lambda", Mode.COMMAND, 0),
        ("host1", Mode.REAL, 0),
        ("host1", Mode.SIMULATED, 0),
    ],
)
def test_a_deploy_of_a_whole_service_leaves_functions_out_itself(
    tmp_path: Path, provider_id: str, mode: Mode, count: int
) -> None:
    live = replace(TWO, provider_id=provider_id, mode=mode)
    assert len(removals(tmp_path, live, TASKS)) == count


def test_a_first_deploy_deletes_nothing(tmp_path: Path) -> None:
    assert removals(tmp_path, deployed("other"), TASKS) == []
