"""Plans, events and problems in words. Pure: the screen decides on colour and where they go."""

from collections.abc import Mapping, Sequence

from fabric.model.amounts import duration, plural
from fabric.model.events import (
    Event,
    ProblemFound,
    TaskEnded,
    TaskOutput,
    TaskStarted,
)
from fabric.model.problems import Problem
from fabric.views.style import Style

_KB = 1024
_SHOWN = 40
_ALIKE = 3


def size(count: int) -> str:
    if count < _KB:
        return f"{count} B"
    if count < _KB * _KB:
        return f"{count / _KB:.1f} KB"
    if count < _KB**3:
        return f"{count / _KB**2:.1f} MB"
    return f"{count / _KB**3:.1f} GB"


def build_text(verb: str, new: Sequence[tuple[str, int]], summary: Mapping[str, int]) -> str:
    """New artifacts a line each, then what was done in all."""
    shown = new[:_SHOWN]
    width = max((len(path) for path, _ in shown), default=0)
    lines = [f"{path:<{width}}  {size(count)}" for path, count in shown]
    if len(new) > _SHOWN:
        lines.append(f"… and {len(new) - _SHOWN} more (--json lists them all)")
    return "\n".join([*lines, build_summary(verb, summary)])


def build_summary(verb: str, summary: Mapping[str, int]) -> str:
    if not summary["ran"] and not summary["failed"] and not summary["blocked"]:
        count = plural(summary["cached"], "task")
        return f"Nothing to do: {count} up to date."
    counts = [f"{summary['ran']} run", f"{summary['cached']} up to date"]
    counts += [f"{summary[name]} {name}" for name in ("failed", "blocked") if summary[name]]
    return f"{verb.capitalize()}: {', '.join(counts)} ({duration(summary['ms'])})."


def event_line(event: Event, style: Style) -> str | None:
    """One line for a person reading along; None for what is not worth one."""
    match event:
        case TaskStarted(task, reason):
            return f"{style.dim('>')} {task}  {style.dim(reason)}"
        case TaskOutput(task, text):
            return f"{style.dim(task + ':')} {text}"
        case TaskEnded():
            return _ended_line(event, style)
        case ProblemFound(task, "warning", problem):
            return problem_text(problem, style, severity="warning", task=task)
        case _:
            # Errors come together at the end, where they do not scroll away.
            return None


def _ended_line(event: TaskEnded, style: Style) -> str | None:
    match event.status:
        case "ran":
            return f"{style.good('✓')} {event.task}  {style.dim(duration(event.ms))}"
        case "failed":
            return f"{style.bad('✗')} {event.task} failed after {duration(event.ms)}"
        case "blocked" | "cancelled":
            return f"{style.warn('-')} {event.task} {event.status}: {event.reason}"
        case _:
            return None


def warning_lines(warnings: Sequence[Problem], style: Style) -> list[str]:
    """Every kind of warning a few times; of two hundred that say the same, how many there are."""
    kinds: dict[str, list[Problem]] = {}
    for one in warnings:
        kinds.setdefault(one.code, []).append(one)
    lines = []
    for code, alike in kinds.items():
        lines += [problem_text(one, style, severity="warning") for one in alike[:_ALIKE]]
        if len(alike) > _ALIKE:
            lines.append(f"{style.warn('warning')}[{code}] and {len(alike) - _ALIKE} more like it")
    return lines


def problem_text(problem: Problem, style: Style, *, severity: str = "error", task: str = "") -> str:
    """Place, what, the lines around it, and what to do about it."""
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
