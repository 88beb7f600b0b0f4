"""The events of a run: the only channel for progress."""

from typing import TypeAlias

from msgspec import Struct

from fabric.model.problems import Problem


class RunStarted(Struct, frozen=True):
    command: str
    tasks: int
    to_check: int
    stage: str


class TaskStarted(Struct, frozen=True):
    task: str
    reason: str


class TaskOutput(Struct, frozen=True):
    task: str
    text: str


class TaskEnded(Struct, frozen=True):
    task: str
    status: str
    reason: str
    ms: int


class ProblemFound(Struct, frozen=True):
    task: str
    severity: str
    problem: Problem


class RunEnded(Struct, frozen=True):
    status: str
    ran: int
    skipped: int
    failed: int
    blocked: int
    ms: int


Event: TypeAlias = RunStarted | TaskStarted | TaskOutput | TaskEnded | ProblemFound | RunEnded

EVENT_NAMES: dict[type, str] = {
    RunStarted: "run_started",
    TaskStarted: "task_started",
    TaskOutput: "task_output",
    TaskEnded: "task_ended",
    ProblemFound: "problem",
    RunEnded: "run_ended",
}


class Stamped(Struct, frozen=True):
    """An event with its run, its number in the run, and the time."""

    run: str
    seq: int
    time: str
    elapsed: float
    event: Event
