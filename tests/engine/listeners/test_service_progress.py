"""The count of a run by service, and how much of it is left."""

from pathlib import Path

from fabric.engine.bus import RunInfo
from fabric.engine.listeners.service_progress import ServiceProgress
from fabric.model.runs.events import Event, RunEnded, Stamped, TaskEnded, TaskStarted
from fabric.views.board import ServiceRow
from tests.support.plans import build, plan_of

TASKS = (
    build("build:api/a", service="api"),
    build("build:api/b", service="api"),
    build("build:api/c", service="api"),
    build("build:web/a", "build:api/a", service="web"),
    build("build:web/b", "build:web/a", service="web"),
)


class Notices:
    """A progress that hears events at moments."""

    def __init__(self, known: frozenset[int] = frozenset()) -> None:
        graph = plan_of(TASKS).graph
        seconds = tuple(2.0 for _ in graph.ids)
        self.progress = ServiceProgress(RunInfo("r1", Path(), graph, seconds, 2, known))

    def hear(self, elapsed: float, event: Event) -> ServiceRow | None:
        return self.progress.hear(Stamped("r1", 1, "", elapsed, event))

    def run(self, task: str, begun: float, ended: float, status: str = "ran") -> ServiceRow | None:
        self.hear(begun, TaskStarted(task, "because"))
        return self.hear(ended, TaskEnded(task, status, "because", round((ended - begun) * 1000)))


def test_the_last_task_of_a_service_gives_its_row() -> None:
    told = Notices()
    assert told.run("build:api/a", 0, 1) is None
    assert told.run("build:api/b", 1, 2, "skipped") is None
    row = told.run("build:api/c", 2, 4, "failed")
    assert row is not None
    assert (row.name, row.total, row.ms) == ("api", 3, 4000)
    assert row.counts == {"ran": 1, "skipped": 1, "failed": 1}


def test_tasks_outside_this_run_are_not_counted() -> None:
    told = Notices(known=frozenset({0}))
    assert told.hear(0, RunEnded("ok", 0, 0, 0, 0, 0)) is None
    assert told.run("build:other/x", 0, 1) is None
    assert told.run("build:api/a", 0, 1) is None
    board = told.progress.board(1.0)
    assert (board.ended, board.total) == (0, 4)


def test_running_tasks_are_listed_by_level() -> None:
    told = Notices()
    told.hear(1, TaskStarted("build:web/a", "because"))
    board = told.progress.board(3.0)
    assert [(row.name, row.running) for row in board.rows] == [("api", 0), ("web", 1)]
    (running,) = board.running
    assert (running.service, running.seconds) == ("web", 2.0)
    assert board.left is None, "too few have ended to tell"


def test_remaining_time_follows_the_accuracy_of_estimates() -> None:
    slow, fast = Notices(), Notices()
    for number, name in enumerate(("a", "b", "c")):
        slow.run(f"build:api/{name}", number * 4, number * 4 + 4)
        fast.run(f"build:api/{name}", number, number + 1)
    assert slow.progress.board(12.0).left == 8.0
    assert fast.progress.board(3.0).left == 2.0
    fast.hear(3, TaskStarted("build:web/a", "because"))
    assert fast.progress.board(3.5).left == 1.5
