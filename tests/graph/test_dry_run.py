"""The dry run against the run, over seeded random projects and edits: they never disagree."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.engine.result import Status
from fabric.engine.task_runner import TaskRunner
from fabric.graph.build_graph import build_graph
from fabric.graph.decide import Action
from fabric.graph.plan import Plan, make_plan
from fabric.graph.taskgraph import TaskGraph
from fabric.model.task import Task
from tests.support.fakes import Bench, join

SOURCES = ("a", "b", "c", "d", "e")
PROJECTS_A_CASE, EDITS_A_PROJECT = 6, 8


class Guess:
    """A project of random tasks on a few files, edited at random."""

    def __init__(self, root: Path, seed: int) -> None:
        root.mkdir()
        self.chance = random.Random(seed)
        self.bench = Bench(root)
        self.ticks = 0
        self.tasks = list(self._tasks())
        for name in SOURCES:
            self._rewrite(name)

    def _tasks(self) -> Iterator[Task]:
        names = [f"t{number}" for number in range(self.chance.randint(2, 7))]
        for place, name in enumerate(names):
            needs = self.chance.sample(names[:place], k=min(place, self.chance.randint(0, 2)))
            yield join(name, *self._some(SOURCES), needs=tuple(sorted(needs)))

    def _some(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(self.chance.sample(names, k=self.chance.randint(1, 2))))

    def _rewrite(self, name: str) -> None:
        comment = "#" * self.chance.randint(0, 3)
        self._save(self.bench.root / name, f"{name}{self.chance.randint(0, 2)} {comment}")

    def _save(self, path: Path, text: str) -> None:
        """Every save has a time of its own, whatever the file system's clock is worth."""
        path.write_text(text)
        self.ticks += 1
        os.utime(path, (self.ticks, self.ticks))

    def edit(self) -> None:
        for _ in range(self.chance.randint(0, 2)):
            match self.chance.choice(["source", "source", "option", "code", "output", "fail"]):
                case "source":
                    self._rewrite(self.chance.choice(SOURCES))
                case "option":
                    self._turn_option()
                case "code":
                    self.bench.kind.version = str(self.chance.randint(1, 2))
                case "output":
                    self._tamper()
                case _:
                    self._save(self.bench.root / self.chance.choice(SOURCES), "fail")

    def _turn_option(self) -> None:
        place = self.chance.randrange(len(self.tasks))
        old = self.tasks[place]
        name = old.id.partition(":")[2]
        needs = tuple(need.partition(":")[2] for need in old.needs)
        upper = self.chance.random() < 0.5
        self.tasks[place] = join(name, *self._some(SOURCES), needs=needs, upper=upper)

    def _tamper(self) -> None:
        path = self.bench.root / "out" / f"t{self.chance.randrange(7)}.txt"
        if path.exists() and self.chance.random() < 0.5:
            path.unlink()
        elif path.exists():
            self._save(path, "tampered")

    def graph(self) -> TaskGraph:
        return build_graph(tuple(self.tasks))

    def plan(self, graph: TaskGraph) -> Plan:
        stores = self.bench.stores()
        runner = TaskRunner(stores, {"join": self.bench.kind}, self.bench.clock)
        return make_plan(graph, runner.memory)


def named(plan: Plan, action: Action) -> set[str]:
    pairs = zip(plan.graph.ids, plan.decisions, strict=True)
    return {task_id for task_id, decision in pairs if decision.action is action}


@pytest.mark.parametrize(
    "seed", [pytest.param(one, marks=pytest.mark.slow if one > 1 else ()) for one in range(8)]
)
def test_run_executes_exactly_the_planned_tasks(seed: int, tmp_path: Path) -> None:
    for number in range(PROJECTS_A_CASE):
        guess = Guess(tmp_path / str(number), seed * 1000 + number)
        for _ in range(EDITS_A_PROJECT):
            graph = guess.graph()
            plan = guess.plan(graph)
            result = guess.bench.run_graph(graph)
            tried = set(guess.bench.kind.ran)
            run, wait, skip = (named(plan, one) for one in (Action.RUN, Action.WAIT, Action.SKIP))
            assert run <= tried <= run | wait
            assert not skip & tried
            assert len(guess.bench.kind.ran) == len(tried), "a task ran twice"
            if result.ok:
                again = guess.plan(graph)
                assert not again.anything_to_do, named(again, Action.RUN)
            guess.edit()


@pytest.mark.parametrize("seed", range(4))
def test_a_plan_gives_the_reason_that_the_run_gives(seed: int, tmp_path: Path) -> None:
    guess = Guess(tmp_path / "p", seed)
    for _ in range(EDITS_A_PROJECT):
        graph = guess.graph()
        plan = guess.plan(graph)
        result = guess.bench.run_graph(graph)
        for decision, outcome in zip(plan.decisions, result.outcomes, strict=True):
            if decision.action is Action.RUN and outcome.status is Status.RAN:
                assert outcome.reason == decision.reason
                assert outcome.decision is not None
                assert outcome.decision.key == decision.key
        guess.edit()


@pytest.mark.parametrize("seed", range(4))
def test_planning_twice_gives_the_same_and_leaves_nothing(seed: int, tmp_path: Path) -> None:
    guess = Guess(tmp_path / "p", seed)
    for _ in range(EDITS_A_PROJECT):
        graph = guess.graph()
        assert guess.plan(graph) == guess.plan(graph)
        assert not guess.bench.kind.ran
        guess.bench.run_graph(graph)
        guess.bench.kind.ran.clear()
        guess.edit()
