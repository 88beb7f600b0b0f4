"""Lines, numbers and traces for people."""

import datetime
import itertools
import json
from collections.abc import Iterator, Sequence
from zlib import crc32

import msgspec

from fabric.model.observed import SECOND, LogLine, parse_nanoseconds
from fabric.model.outcomes.watched import (
    LogsOutcome,
    MetricsOutcome,
    NumbersRow,
    StepRow,
    TracedRow,
    TracesOutcome,
    build_line_row,
)
from fabric.views.state_text import format_table
from fabric.views.style import Style

_BARS = "▁▂▃▄▅▆▇█"
_NO_BAR = " "
_SHORT_REQUEST = 8


def format_logs(found: LogsOutcome, style: Style) -> str:
    if not found.found:
        return f"No log lines since {_format_local_moment(found.since)}."
    return "\n".join(format_log_line(one, style) for one in found.found)


def encode_log_line(line: LogLine) -> str:
    """Encode a log line as one JSON object, with control characters escaped."""
    text = msgspec.json.encode(build_line_row(line)).decode()
    return text if text.isprintable() else "".join(map(_escape_character, text))


def _escape_row(text: str) -> str:
    """Escape foreign text so that it fits one row."""
    return "".join(map(_escape_character, text))


def _escape_character(letter: str) -> str:
    return letter if letter.isprintable() else json.dumps(letter)[1:-1]


def format_log_line(line: LogLine, style: Style) -> str:
    """Format a log line: local time, source, request id and text."""
    whose = f"{line.service}/{line.function}"
    coloured = style.color_by_number(whose, crc32(whose.encode()))
    request = _escape_row(line.request[:_SHORT_REQUEST])
    request = style.dim(f" {request}") if request else ""
    text = line.text.rstrip("\n").replace("\n", "\n    ")
    if line.is_platform:
        text = style.dim(text)
    elif line.level in ("warn", "error"):
        text = (style.bad if line.level == "error" else style.warn)(text)
    return f"{style.dim(_format_clock(line.at))} {coloured}{request}  {text}"


def _format_clock(at: int) -> str:
    return f"{_convert_to_local(at):%Y-%m-%d %H:%M:%S}.{at % SECOND // 1_000_000:03d}"


def _format_local_moment(moment: str) -> str:
    """Format a document's time in local time with zone."""
    return f"{_convert_to_local(parse_nanoseconds(moment)):%Y-%m-%d %H:%M:%S %Z}"


def _convert_to_local(at: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(at // SECOND, tz=datetime.UTC).astimezone()


def format_metrics(found: MetricsOutcome, style: Style) -> str:
    if not found.functions:
        return "No functions found."
    head = ("function", "provider", "calls", "errors", "p50", "p95", "calls over time")
    rows = [
        (
            f"{one.service}/{one.function}",
            one.provider,
            str(one.calls),
            str(one.errors),
            _format_ms(one.p50_ms),
            _format_ms(one.p95_ms),
            draw_sparkline(parts),
        )
        for one, parts in itertools.zip_longest(found.functions, found.over_time, fillvalue=())
        if isinstance(one, NumbersRow)
    ]
    first, *rest = format_table([head, *rows]).splitlines()
    lines = [
        (style.bad(line) if one.errors else line)
        for line, one in zip(rest, found.functions, strict=True)
    ]
    return "\n".join([style.strong(first), *lines])


def _format_ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


def draw_sparkline(counts: Sequence[int]) -> str:
    """Draw a bar per time part; empty for no calls."""
    most = max(counts, default=0)
    if not most:
        return ""
    top = len(_BARS) - 1
    return "".join(_BARS[round(one / most * top)] if one else _NO_BAR for one in counts)


def format_traces(found: TracesOutcome, style: Style) -> str:
    if not found.traces:
        return "" if found.as_trees else f"No traces since {_format_local_moment(found.since)}."
    if found.as_trees:
        return "\n\n".join("\n".join(_format_tree(one, style)) for one in found.traces)
    return "\n".join(_trace_line(one, style) for one in found.traces)


def _trace_line(one: TracedRow, style: Style) -> str:
    status = style.good(one.status) if one.status == "ok" else style.bad(one.status)
    whose = style.strong(f"{one.service}/{one.function}")
    begun = style.dim(_format_clock(parse_nanoseconds(one.started_at)))
    return f"{begun} {_escape_row(one.id)}  {whose}  {one.ms:,.0f} ms  {status}"


def _format_tree(trace: TracedRow, style: Style) -> Iterator[str]:
    yield _trace_line(trace, style)
    known = {one.id for one in trace.spans}
    roots = [one for one in trace.spans if one.parent not in known]
    seen: set[str] = set()
    for number, root in enumerate(roots):
        yield from _format_branch(root, trace.spans, seen, "", is_last=number == len(roots) - 1)
    # Whoever is below nobody but himself begins where he is named first.
    for step in trace.spans:
        yield from _format_branch(step, trace.spans, seen, "", is_last=True)


def _format_branch(
    step: StepRow, every: Sequence[StepRow], seen: set[str], indent: str, *, is_last: bool
) -> Iterator[str]:
    """Format a step with its children. Steps in a cycle are shown once."""
    if step.id in seen:
        return
    seen.add(step.id)
    failed = "" if step.status == "ok" else f"  {step.status}"
    yield (
        f"{indent}{'└─ ' if is_last else '├─ '}{_escape_row(step.name)}  {step.ms:,.1f} ms{failed}"
    )
    below = [one for one in every if one.parent == step.id and one.id != step.id]
    inner = indent + ("   " if is_last else "│  ")
    for number, one in enumerate(below):
        yield from _format_branch(one, every, seen, inner, is_last=number == len(below) - 1)
