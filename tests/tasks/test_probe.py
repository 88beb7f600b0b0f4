"""Checks and queries as tasks: run each time, never cached."""

from fabric.model.checks import make_failed_check, make_passed_check
from fabric.model.names import Digest
from fabric.model.problems import Problem
from fabric.model.task import Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import ProbeInputs
from fabric.providers.core.contract import CallContext
from fabric.tasks.probe import ObserveKind, ProbeKind, read_probe_checks
from tests.tasks.tools import QuietTools

TASK = Task(TaskId("probe:shop/disk"), ProbeInputs("shop", "cloud1-lambda", "dev", "disk"))


def test_the_checks_of_a_probe_are_read_back_from_its_output() -> None:
    found = (
        make_passed_check("disk", "12 GB free"),
        make_failed_check("disk", Problem("disk/full", "no space left", "free some space")),
    )
    made = ProbeKind({"disk": lambda: found}).run(TASK, {}, QuietTools())
    assert not made.keep
    assert read_probe_checks(Output(made.digest, facts=made.facts)) == found


def test_an_output_without_checks_has_none() -> None:
    assert read_probe_checks(Output(Digest("0" * 64))) == ()


def test_a_query_runs_without_a_compute_slot_and_its_notes_are_printed() -> None:
    def look(watch: CallContext) -> None:
        watch.hear("throttled")

    tools = QuietTools()
    made = ObserveKind({TASK.id: look}).run(TASK, {}, tools)
    assert tools.waits == 1
    assert tools.said == ["probe:shop/disk: throttled"]
    assert not made.keep
