"""Count the progress of a run by service, and estimate the remaining time."""

from msgspec import Struct, field

from fabric.engine.bus import RunInfo
from fabric.graph.critical_path import compute_tails
from fabric.graph.service_order import compute_levels, list_ties
from fabric.model.runs.events import Stamped, TaskEnded, TaskStarted
from fabric.model.task_id import parse_task_kind
from fabric.views.board import Board, RunningTask, ServiceRow

_ENOUGH = 3


class _Count(Struct):
    level: int
    total: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    running: int = 0
    begun: float | None = None
    ended: float = 0.0


class _Pace(Struct):
    """The expected and actual durations of tasks of one kind."""

    guessed: float = 0.0
    taken: float = 0.0

    @property
    def ratio(self) -> float:
        return self.taken / self.guessed if self.guessed else 1.0


class ServiceProgress:
    """The progress by service. Not thread-safe: the bus sends one event at a time, and readers hold
    a lock."""

    def __init__(self, info: RunInfo) -> None:
        self._scene = info
        graph = info.graph
        names = [task.inputs.service for task in graph.tasks]
        levels = compute_levels(names, list_ties(graph))
        self._counts = {name: _Count(level) for name, level in levels.items()}
        self._numbers: dict[str, int] = {
            task_id: number for number, task_id in enumerate(graph.ids) if number not in info.known
        }
        self._services: dict[str, str] = dict(zip(graph.ids, names, strict=True))
        for task_id in self._numbers:
            self._counts[self._services[task_id]].total += 1
        self._left = [0.0 if n in info.known else s for n, s in enumerate(info.seconds)]
        self._running: dict[str, float] = {}
        self._ended = 0
        self._paces: dict[str, _Pace] = {}
        self._ran = 0

    def hear(self, stamped: Stamped) -> ServiceRow | None:
        """Count an event. Returns the service if its last task ended."""
        event = stamped.event
        if not isinstance(event, TaskStarted | TaskEnded):
            return None
        count = self._counts.get(self._services.get(event.task, ""))
        if count is None or event.task not in self._numbers:
            return None
        if isinstance(event, TaskStarted):
            self._running[event.task] = stamped.elapsed
            count.running += 1
            count.begun = stamped.elapsed if count.begun is None else count.begun
            return None
        self._end(event, count, stamped.elapsed)
        name = self._services[event.task]
        is_done = sum(count.counts.values()) == count.total
        return self._build_row(name) if name and is_done else None

    def _end(self, event: TaskEnded, count: _Count, elapsed: float) -> None:
        if self._running.pop(event.task, None) is not None:
            count.running -= 1
        count.counts[event.status] = count.counts.get(event.status, 0) + 1
        count.ended = elapsed
        self._ended += 1
        number = self._numbers[event.task]
        if event.status == "ran":
            self._ran += 1
            pace = self._paces.setdefault(parse_task_kind(event.task), _Pace())
            pace.guessed += self._left[number]
            pace.taken += event.ms / 1000
        self._left[number] = 0.0

    def _build_row(self, name: str) -> ServiceRow:
        count = self._counts[name]
        ms = 0 if count.begun is None else round((count.ended - count.begun) * 1000)
        return ServiceRow(
            name=name,
            level=count.level,
            total=count.total,
            counts=dict(count.counts),
            running=count.running,
            ms=ms,
        )

    def board(self, elapsed: float) -> Board:
        # Tasks that services share have no row.
        counts = self._counts.items()
        rows = [self._build_row(name) for name, count in counts if name and count.total]
        running = [
            RunningTask(self._services[task], task, max(0.0, elapsed - begun))
            for task, begun in self._running.items()
        ]
        return Board(
            rows=tuple(sorted(rows, key=lambda row: (row.level, row.name))),
            running=tuple(running),
            ended=self._ended,
            total=len(self._numbers),
            elapsed=elapsed,
            left=self._estimate_remaining(elapsed),
        )

    def _estimate_remaining(self, elapsed: float) -> float | None:
        """Estimate the remaining seconds from last durations, scaled by this run's pace."""
        if self._ran < _ENOUGH:
            return None
        kinds = map(parse_task_kind, self._scene.graph.ids)
        left = [
            one * self._paces[kind].ratio if kind in self._paces else one
            for one, kind in zip(self._left, kinds, strict=True)
        ]
        for task, begun in self._running.items():
            number = self._numbers[task]
            left[number] = max(0.0, left[number] - (elapsed - begun))
        longest = max(compute_tails(self._scene.graph.needs, left), default=0.0)
        return max(longest, sum(left) / self._scene.width)
