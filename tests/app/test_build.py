"""What a build tells of its result: all artifacts to whoever reads them, the new ones at once."""

from fabric.app.build import build_outcome
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.shortcuts.packing import LazySequence
from fabric.graph.taskgraph import TaskGraph
from fabric.model.names import Digest, Verb
from fabric.model.task import Output, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BuildInputs

COUNT = 100


class Fleet:
    """A result over many functions, of which a run looked at few; tells which were unpacked."""

    def __init__(self) -> None:
        self.unpacked: set[int] = set()

    def result(self, *ran: int) -> RunResult:
        def task(number: int) -> Task:
            inputs = BuildInputs("api", f"f{number:03}", ".", "a.py", "python3.11")
            return Task(TaskId(f"build:api/f{number:03}"), inputs)

        def outcome(number: int) -> Outcome:
            self.unpacked.add(number)
            status = Status.RAN if number in ran else Status.SKIPPED
            return Outcome(status, "because", Output(Digest(f"{number:064}")))

        ids = tuple(TaskId(f"build:api/f{number:03}") for number in range(COUNT))
        graph = TaskGraph(LazySequence(COUNT, task), ids, ((),) * COUNT, (0,) * COUNT)
        return RunResult(graph, LazySequence(COUNT, outcome), 12, looked_at=ran)


def test_small_run_reads_only_the_artifacts_it_built() -> None:
    fleet = Fleet()
    outcome = build_outcome(fleet.result(7, 3), Verb.BUILD, "")
    assert [one.function for one in outcome.new] == ["f003", "f007"]
    assert (outcome.ran, outcome.cached) == (2, COUNT - 2)
    assert fleet.unpacked == {3, 7}


def test_all_artifacts_are_listed_on_demand() -> None:
    outcome = build_outcome(Fleet().result(7), Verb.BUILD, "../")
    assert len(outcome.artifacts) == COUNT
    assert [one.cached for one in outcome.artifacts].count(False) == 1
    assert outcome.artifacts[7].path.startswith("../")


def test_outcome_lists_only_artifacts_of_the_requested_verb() -> None:
    outcome = build_outcome(Fleet().result(7), Verb.PACKAGE, "")
    assert (outcome.new, len(outcome.artifacts)) == ((), 0)
