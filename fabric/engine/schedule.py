"""Which task starts next, as a state machine without threads or time: easy to drive, to prove."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from heapq import heappop, heappush

from msgspec import Struct

from fabric.graph.critical_path import compute_tails
from fabric.graph.gates import Gate
from fabric.model.task import Lane


class State(StrEnum):
    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


# The smallest goes first.
Urgency = tuple[float, bool]

ENDED = frozenset({State.DONE, State.FAILED, State.BLOCKED, State.CANCELLED})


class Caps(Struct, frozen=True):
    """The maximum number of parallel tasks, and of CPU tasks among them."""

    total: int
    cpu: int


class Agenda(Struct, frozen=True):
    """The tasks by number: `needs` in topological order, lanes and expected seconds.

    `closing` tasks are short and finish earlier ones. They inherit that urgency, so that an aborted
    run leaves little half done. Tasks behind a gate wait until it is open. A `tolerating` task
    starts once all its needs ended and at least one succeeded.
    """

    needs: Sequence[Sequence[int]]
    lanes: Sequence[Lane]
    seconds: Sequence[float]
    closing: frozenset[int] = frozenset()
    gates: Sequence[Gate] = ()
    tolerating: frozenset[int] = frozenset()

    def urgency(self) -> list[Urgency]:
        tail = compute_tails(self.needs, self.seconds)
        ranks = [(-one, True) for one in tail]
        for number in self.closing:
            begun = max((tail[need] for need in self.needs[number]), default=tail[number])
            ranks[number] = (-begun, False)
        return ranks


class Schedule:
    """Ready tasks by longest remaining path, with one cap, two lanes and no barrier between levels.

    `done` tasks count as finished before the start.
    """

    def __init__(self, agenda: Agenda, caps: Caps, done: frozenset[int] = frozenset()) -> None:
        needs = agenda.needs
        self._lanes = agenda.lanes
        self._caps = caps
        self._urgency = agenda.urgency()
        self._dependents: list[list[int]] = [[] for _ in needs]
        # Of tolerating tasks, how many needs may still do well.
        self._remaining_needs = {number: len(needs[number]) for number in agenda.tolerating}
        self._missing = [0] * len(needs)
        self._heaps: dict[Lane, list[tuple[Urgency, int]]] = {Lane.CPU: [], Lane.IO: []}
        self._running = {Lane.CPU: 0, Lane.IO: 0}
        self.states = [State.DONE if n in done else State.WAITING for n in range(len(needs))]
        self.blocked_by: dict[int, int] = {}
        # Of the blocked, those that stand behind a gate and need nothing of what failed.
        self.held_back: set[int] = set()
        self.left = len(needs) - len(done)
        self._gates_before: dict[int, list[int]] = {}
        self._missing_at_gate = [0] * len(agenda.gates)
        self._behind = [gate.after for gate in agenda.gates]
        self._close_gates(agenda.gates, done)
        self._prepare(needs, done)

    def _close_gates(self, gates: Sequence[Gate], done: frozenset[int]) -> None:
        """A gate counts as one more need of all that stand behind it."""
        for index, gate in enumerate(gates):
            waited_for = [number for number in gate.before if number not in done]
            self._missing_at_gate[index] = len(waited_for)
            for number in waited_for:
                self._gates_before.setdefault(number, []).append(index)
            for number in gate.after if waited_for else ():
                self._missing[number] += 1

    def _prepare(self, needs: Sequence[Sequence[int]], done: frozenset[int]) -> None:
        for number, of_task in enumerate(needs):
            if number in done:
                continue
            for need in of_task:
                if need not in done:
                    self._dependents[need].append(number)
                    self._missing[number] += 1
            if not self._missing[number]:
                self._add_ready(number)

    @property
    def running(self) -> int:
        return self._running[Lane.CPU] + self._running[Lane.IO]

    @property
    def over(self) -> bool:
        return self.left == 0

    def urgency(self, number: int) -> Urgency:
        return self._urgency[number]

    def startable(self) -> bool:
        return self._choose_lane() is not None

    def start(self) -> int | None:
        """Take the most urgent of the ready tasks that a cap leaves room for."""
        lane = self._choose_lane()
        if lane is None:
            return None
        number = heappop(self._heaps[lane])[1]
        self._running[lane] += 1
        self.states[number] = State.RUNNING
        return number

    def complete(self, number: int) -> None:
        self._end(number, State.DONE)
        self._decrement_needs(self._dependents[number])
        for index in self._gates_before.get(number, ()):
            self._missing_at_gate[index] -= 1
            if not self._missing_at_gate[index]:
                self._decrement_needs(self._behind[index])

    def _decrement_needs(self, waiting: Iterable[int]) -> None:
        for number in waiting:
            self._missing[number] -= 1
            if not self._missing[number] and self.states[number] is State.WAITING:
                self._add_ready(number)

    def fail(self, number: int) -> list[int]:
        """Block everything that needs this task. Returns the blocked tasks."""
        self._end(number, State.FAILED)
        return self._block(number)

    def cancel_rest(self) -> list[int]:
        """Start no further task. Running tasks can end."""
        rest = [
            number
            for number, state in enumerate(self.states)
            if state in (State.WAITING, State.READY)
        ]
        for number in rest:
            self.states[number] = State.CANCELLED
        self.left -= len(rest)
        self._heaps = {Lane.CPU: [], Lane.IO: []}
        return rest

    def _choose_lane(self) -> Lane | None:
        if self.running >= self._caps.total:
            return None
        cpu, other = self._heaps[Lane.CPU], self._heaps[Lane.IO]
        if cpu and self._running[Lane.CPU] < self._caps.cpu and (not other or cpu[0] <= other[0]):
            return Lane.CPU
        return Lane.IO if other else None

    def _add_ready(self, number: int) -> None:
        self.states[number] = State.READY
        # Numbers grow with level, then id, so that they settle ties as documented.
        heappush(self._heaps[self._lanes[number]], (self._urgency[number], number))

    def _end(self, number: int, state: State) -> None:
        if self.states[number] is not State.RUNNING:
            raise ValueError(f"task {number} is {self.states[number]}, not running")
        self.states[number] = state
        self._running[self._lanes[number]] -= 1
        self.left -= 1

    def _block(self, cause: int) -> list[int]:
        needing = self._block_dependents(self._dependents[cause], cause)
        held: list[int] = []
        fresh = [cause, *needing]
        while fresh:
            behind = [one for number in fresh for one in self._list_waiting(number)]
            fresh = self._block_dependents(behind, cause)
            held += fresh
        self.held_back.update(held)
        return sorted((*needing, *held))

    def _block_dependents(self, start: Iterable[int], cause: int) -> list[int]:
        """Block these tasks and all their dependents."""
        blocked: list[int] = []
        waiting = list(start)
        while waiting:
            number = waiting.pop()
            if self.states[number] is not State.WAITING or self._is_tolerating_failure(number):
                continue
            self.states[number] = State.BLOCKED
            self.blocked_by[number] = cause
            self.left -= 1
            blocked.append(number)
            waiting.extend(self._dependents[number])
        return blocked

    def _is_tolerating_failure(self, number: int) -> bool:
        """Return whether a task tolerates this failed need, while others can still succeed."""
        if number not in self._remaining_needs:
            return False
        self._remaining_needs[number] -= 1
        if self._remaining_needs[number]:
            self._decrement_needs((number,))
        return bool(self._remaining_needs[number])

    def _list_waiting(self, number: int) -> Iterator[int]:
        for index in self._gates_before.get(number, ()):
            yield from self._behind[index]
