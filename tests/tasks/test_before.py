"""Cached commands of a config."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError, Place
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BeforeInputs
from fabric.tasks.before import BeforeKind
from tests.tasks.tools import QuietTools


@pytest.mark.parametrize("command", [("false",), ("no-such-program",)])
def test_a_failed_command_is_reported_with_its_place(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    inputs = BeforeInputs("shop", "gen", ".", "before-build", command, place=("fabric.yml", 4, 7))
    task = Task(TaskId("before:shop/gen"), inputs)
    with pytest.raises(FabricError) as caught:
        BeforeKind(tmp_path, {"PATH": "/usr/bin:/bin"}).run(task, {}, QuietTools(tmp_path))
    assert caught.value.first.where == Place("fabric.yml", 4, 7)
