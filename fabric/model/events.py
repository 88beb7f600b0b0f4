"""What happens while a run happens: the only channel for progress."""

from dataclasses import dataclass
from typing import TypeAlias

from fabric.model.problems import Problem


@dataclass(frozen=True, slots=True)
class RunStarted:
    command: str
    tasks: int
    to_check: int
    stage: str


@dataclass(frozen=True, slots=True)
class TaskStarted:
    task: str
    reason: str


@dataclass(frozen=True, slots=True)
class TaskOutput:
    task: str
    text: str


@dataclass(frozen=True, slots=True)
class TaskEnded:
    task: str
    status: str
    reason: str
    ms: int


@dataclass(frozen=True, slots=True)
class ProblemFound:
    task: str
    severity: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class RunEnded:
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


@dataclass(frozen=True, slots=True)
class Stamped:
    """An event with its run, its number in the run, and the time."""

    run: str
    seq: int
    time: str
    elapsed: float
    event: Event
