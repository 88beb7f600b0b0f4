"""Plans, events and problems as text. Pure: the screen decides on color and destination."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from fabric.model.outcomes.built import BuildOutcome
from fabric.model.problems import Problem
from fabric.model.runs.events import (
    Event,
    ProblemFound,
    TaskEnded,
    TaskOutput,
    TaskStarted,
)
from fabric.model.text.amounts import format_count, format_duration
from fabric.model.text.natural_order import make_natural_key
from fabric.views.style import Style

_KB = 1024
_SHOWN = 40
_ALIKE = 3


def format_size(count: int) -> str:
    if count < _KB:
        return f"{count} B"
    if count < _KB * _KB:
        return f"{count / _KB:.1f} KB"
    if count < _KB**3:
        return f"{count / _KB**2:.1f} MB"
    return f"{count / _KB**3:.1f} GB"


def build_text(built: BuildOutcome, _style: Style) -> str:
    """Format the new artifacts, a line each, and a summary."""
    shown = sorted(built.new, key=lambda one: make_natural_key(one.path))[:_SHOWN]
    width = max((len(one.path) for one in shown), default=0)
    lines = [f"{one.path:<{width}}  {format_size(one.size_bytes)}" for one in shown]
    if len(built.new) > _SHOWN:
        lines.append(f"… and {len(built.new) - _SHOWN} more (--json lists them all)")
    return "\n".join([*lines, *_format_shards(built), _build_summary(built)])


def _format_shards(built: BuildOutcome) -> Iterator[str]:
    """Format this shard and all others, so that one log shows the whole run."""
    if built.shard is None:
        return
    each = zip_longest(built.shard.results, built.shard.expected_ms)
    for number, (results, expected) in enumerate(each, start=1):
        here = "  (this run)" if number == built.shard.number else ""
        lasts = "" if expected is None else f", about {format_duration(expected)}"
        part = f"shard {number} of {built.shard.count}"
        yield f"{part}: {format_count(results, 'function')}{lasts}{here}"


def _build_summary(built: BuildOutcome) -> str:
    bad = ((built.failed, "failed"), (built.blocked, "blocked"), (built.left, "not started"))
    if not built.ran and not any(count for count, _ in bad):
        return (
            f"Nothing to do: {format_count(built.cached, 'task')} up to "
            f"date{_format_shared(built)}."
        )
    counts = [f"{built.ran} run", f"{built.cached} up to date{_format_shared(built)}"]
    counts += [f"{count} {name}" for count, name in bad if count]
    return f"{built.verb.capitalize()}: {', '.join(counts)} ({format_duration(built.ms)})."


def _format_shared(built: BuildOutcome) -> str:
    hits = built.remote.hits if built.remote else 0
    return f", {hits} from the shared cache" if hits else ""


def format_run_event(event: Event, style: Style) -> str | None:
    """Format an event as a line; None for minor events."""
    match event:
        case TaskStarted(task, reason):
            return f"{style.dim('>')} {task}  {style.dim(reason)}"
        case TaskOutput(task, text):
            return f"{style.dim(task + ':')} {text}"
        case TaskEnded():
            return _format_end(event, style)
        case ProblemFound(task, "warning", problem):
            return format_problem(problem, style, severity="warning", task=task)
        case _:
            # Errors come together at the end, where they do not scroll away.
            return None


def _format_end(event: TaskEnded, style: Style) -> str | None:
    match event.status:
        case "ran":
            return f"{style.good('✓')} {event.task}  {style.dim(format_duration(event.ms))}"
        case "failed":
            return f"{style.bad('✗')} {event.task} failed after {format_duration(event.ms)}"
        case "blocked" | "cancelled":
            return f"{style.warn('-')} {event.task} {event.status}: {event.reason}"
        case _:
            return None


def format_warnings(warnings: Sequence[Problem], style: Style) -> list[str]:
    """Format the warnings. Repeated warnings are shown a few times and counted."""
    kinds: dict[str, list[Problem]] = {}
    for one in warnings:
        kinds.setdefault(one.code, []).append(one)
    lines = []
    for code, alike in kinds.items():
        lines += [format_problem(one, style, severity="warning") for one in alike[:_ALIKE]]
        if len(alike) > _ALIKE:
            lines.append(f"{style.warn('warning')}[{code}] and {len(alike) - _ALIKE} more warnings")
    return lines


def format_problem(
    problem: Problem, style: Style, *, severity: str = "error", task: str = ""
) -> str:
    """Format a problem: place, message, surrounding lines and hint."""
    paint = style.bad if severity == "error" else style.warn
    head = f"{paint(severity)}[{problem.code}]"
    place = f" {problem.where}:" if problem.where else ""
    owner = f" {task}:" if task else ""
    lines = [f"{head}{owner}{place} {problem.message}"]
    if problem.frame:
        lines += [f"  {line}" for line in problem.frame.splitlines()]
    if problem.hint:
        lines.append(f"  {style.dim('hint:')} {problem.hint}")
    return "\n".join(lines)
