"""Results about invocations: lines, numbers and traces."""

from typing import ClassVar

from fabric.model.observed import FunctionNumbers, LogLine, TracedCall, format_moment
from fabric.model.outcomes.json_struct import JsonStruct


class LineRow(JsonStruct, frozen=True):
    time: str
    service: str
    function: str
    provider: str
    level: str
    request: str
    text: str


class LogsOutcome(JsonStruct, frozen=True):
    """`found` are the same lines, for people."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"found"})

    lines: tuple[LineRow, ...]
    since: str
    until: str
    found: tuple[LogLine, ...] = ()


class NumbersRow(JsonStruct, frozen=True):
    service: str
    function: str
    provider: str
    calls: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None


class MetricsOutcome(JsonStruct, frozen=True):
    """`over_time` is for people, one for each function."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"overTime"})

    functions: tuple[NumbersRow, ...]
    since: str
    until: str
    over_time: tuple[tuple[int, ...], ...] = ()


class StepRow(JsonStruct, frozen=True):
    id: str
    parent: str
    name: str
    started_at: str
    ms: float
    status: str


class TracedRow(JsonStruct, frozen=True):
    id: str
    service: str
    function: str
    provider: str
    started_at: str
    ms: float
    status: str
    spans: tuple[StepRow, ...]


class TracesOutcome(JsonStruct, frozen=True):
    """Traces. With `as_trees` each is shown with its steps."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"asTrees"})

    traces: tuple[TracedRow, ...]
    since: str
    until: str
    as_trees: bool = False


def build_line_row(line: LogLine) -> LineRow:
    return LineRow(
        time=format_moment(line.at),
        service=line.service,
        function=line.function,
        provider=line.provider,
        level=line.level,
        request=line.request,
        text=line.text,
    )


def build_numbers_row(one: FunctionNumbers) -> NumbersRow:
    where = (one.service, one.function, one.provider)
    return NumbersRow(*where, one.calls, one.errors, one.p50_ms, one.p95_ms)


def trace_row(one: TracedCall) -> TracedRow:
    steps = tuple(
        StepRow(
            id=step.id,
            parent=step.parent,
            name=step.name,
            started_at=format_moment(step.started_at),
            ms=step.ms,
            status=step.status,
        )
        for step in one.steps
    )
    where = (one.id, one.service, one.function, one.provider)
    return TracedRow(*where, format_moment(one.started_at), one.ms, one.status, steps)
