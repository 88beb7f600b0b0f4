"""Tools of deploy tasks: the record of a task, and problems with their config places."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from fabric.graph.decide import Decision
from fabric.graph.plan import Known
from fabric.model.problems import FabricError, Problem, StoppedError, UntouchedError, WithheldError
from fabric.model.records.record import RecordRef
from fabric.model.task import InputEntry, Output, Task
from fabric.model.task_id import TaskId
from fabric.tasks.contract import TaskResult, TaskTools
from fabric.tasks.deploy_tools import PlacedKind, Values, get_record_ref, watch_of
from tests.support.records import record
from tests.tasks.deploys import Deploys, release, removal
from tests.tasks.tools import HeldRecord, QuietTools

PROBLEM = Problem("provider/failed", "the call failed")


@dataclass
class FailingKind:
    error: Exception

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        return ()

    def judge(self, known: Known) -> Decision:
        raise self.error

    def claim(self, task: Task) -> None:
        raise self.error

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        raise self.error


def failed(error: Exception) -> PlacedKind:
    return PlacedKind(FailingKind(error), Deploys(HeldRecord(record())))


@pytest.mark.parametrize("task", [removal("hello"), release("hello")])
def test_a_task_belongs_to_the_record_of_its_service_stage_and_provider(task: Task) -> None:
    assert get_record_ref(task.inputs) == RecordRef("shop", "dev", "cloud1-lambda")


@pytest.mark.parametrize("kind", [FabricError, UntouchedError])
def test_problems_of_a_call_get_their_place_in_the_config(kind: type[FabricError]) -> None:
    with pytest.raises(kind) as caught:
        failed(kind(PROBLEM)).run(removal("hello"), {}, QuietTools())
    assert type(caught.value) is kind
    assert caught.value.first.hint == "shop/hello"


@pytest.mark.parametrize(
    "error", [StoppedError(PROBLEM), WithheldError((PROBLEM,), is_told=True), ZeroDivisionError()]
)
def test_other_errors_are_passed_on_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        failed(error).run(removal("hello"), {}, QuietTools())
    assert caught.value is error


def test_progress_of_a_call_is_printed_under_its_task() -> None:
    quiet = QuietTools()
    watch = watch_of(removal(), quiet)
    watch.hear("waiting")
    assert quiet.said == ["remove:shop@cloud1-lambda: waiting"]
    assert not watch.is_to_end()


def test_values_without_a_name_are_of_no_configured_function() -> None:
    assert not Values().is_configured
    assert Values(spec=("hello", (), ())).is_configured
