"""Builds of functions as tasks."""

from pathlib import Path
from typing import NoReturn

import pytest

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Toolchain
from fabric.tasks.build import BuildKind
from tests.tasks.tools import QuietTools

INPUTS = BuildInputs(
    "shop", "a", ".", "main.go", "provided.al2023", command=("go",), place=("fabric.yml", 5, 3)
)
TASK = Task(TaskId("build:shop/a"), INPUTS)


class Failing:
    """A runtime whose tool is missing."""

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain:
        raise FabricError(Problem("runtime/tool-missing", f"{workspace} {inputs.function}"))

    def build(self, workspace: Path, inputs: BuildInputs) -> NoReturn:
        raise FabricError(Problem("build/failed", f"{workspace} {inputs.function}"))

    def entry(self, workspace: Path, inputs: BuildInputs) -> NoReturn:
        raise AssertionError((workspace, inputs))

    record_inputs = entry


def test_a_missing_tool_is_reported_with_the_place_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        BuildKind(tmp_path, Failing()).code(TASK)
    assert caught.value.first.where == Place("fabric.yml", 5, 3)


def test_a_failed_command_is_reported_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        BuildKind(tmp_path, Failing()).run(TASK, {}, QuietTools(tmp_path))
    assert caught.value.first.where == Place("fabric.yml", 5, 3)


def test_the_place_is_not_part_of_the_key() -> None:
    assert "place" not in {one.name for one in INPUTS.entries()}
