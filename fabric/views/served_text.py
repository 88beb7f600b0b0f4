"""Text of a local server: a line per call, with function output below."""

import json
from collections.abc import Iterator

from msgspec import Struct

from fabric.model.outcomes.queried import (
    PresetCall,
    RestoredOutcome,
    RestoredService,
    StreamedOutcome,
)
from fabric.model.problems import Problem
from fabric.model.text.amounts import format_count
from fabric.views.messages import format_problem
from fabric.views.style import Style

_FAILED, _REFUSED = 500, 400
_MEGABYTE = 1024 * 1024


class CallLine(Struct, frozen=True):
    """`logs` is the function's output, `warning` the notice on its response."""

    method: str
    path: str
    status: int
    function: str
    ms: int
    memory: int
    logs: str = ""
    why: str = ""
    warning: str = ""


def call_text(call: CallLine, style: Style) -> str:
    if not call.method:
        return "\n".join(
            (f"{call.function}, between two calls", *_format_call_details(call, style))
        )
    status = str(call.status)
    if call.status >= _FAILED:
        status = style.bad(status)
    elif call.status >= _REFUSED:
        status = style.warn(status)
    else:
        status = style.good(status)
    used = f"{call.memory // _MEGABYTE} MB" if call.memory else ""
    measured = f"{call.ms} ms" if call.function else ""
    tail = style.dim("  ".join(filter(None, (measured, used, call.function))))
    return "\n".join(
        (f"{call.method} {call.path} {status}  {tail}".rstrip(), *_format_call_details(call, style))
    )


def _format_call_details(call: CallLine, style: Style) -> Iterator[str]:
    for line in call.logs.rstrip("\n").splitlines() if call.logs else ():
        yield f"  {style.dim('|')} {line}"
    if call.why:
        yield f"  {style.bad(call.why)}"
    if call.warning:
        yield f"  {style.warn('warning')}: {call.warning}"


def format_ready(
    url: str, routes: tuple[tuple[str, str], ...], others: tuple[str, ...], style: Style
) -> str:
    """Format the address and the routes, each with its function."""
    width = max((len(key) for key, _ in routes), default=0)
    lines = [f"Serving at {style.strong(url)}"]
    lines += [f"  {key:<{width}}  {style.dim(name)}" for key, name in routes]
    lines += [f"  {style.dim('POST')} /_fabric/events/{name}" for name in others]
    lines.append(style.dim("Type `exit` or press Ctrl-C to stop."))
    return "\n".join(lines)


def round_text(moved: tuple[str, ...], changed: tuple[str, ...], ms: int, style: Style) -> str:
    """Format a changed file and the rebuilt functions."""
    first = moved[0] if moved else ""
    more = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
    built = ", ".join(changed) if changed else "nothing changed"
    return f"{style.note(f'{first}{more}')} -> {built} {style.dim(f'{ms} ms')}"


def format_preset_call(call: PresetCall, style: Style) -> str:
    """Format a call of the dev loop: event kind, response and queue handling."""
    head = f"{call.preset} -> {style.strong(call.function)} {style.dim(f'{call.ms} ms')}"
    answer = style.bad(call.error) if call.error else json.dumps(call.response, ensure_ascii=False)
    logs = [f"  {style.dim('|')} {line}" for line in call.logs.rstrip("\n").splitlines()]
    return "\n".join((head, *logs, f"  {answer}", *_format_batch(call, style)))


def _format_batch(call: PresetCall, style: Style) -> Iterator[str]:
    if call.messages_back:
        yield f"  {style.warn('retried')}: {', '.join(call.messages_back)}"
    if call.messages_done:
        yield f"  {style.good('processed')}: {', '.join(call.messages_done)}"
    if call.batch_note:
        yield f"  {style.warn('note')}: {call.batch_note}"


def format_broken_build(problems: tuple[Problem, ...], style: Style) -> str:
    return "\n".join(format_problem(one, style) for one in problems)


def format_diverted(tunnel: str, routes: tuple[str, ...], style: Style) -> str:
    lines = [
        f"{style.good('routed')}: {format_count(len(routes), 'route')} of the stage to {tunnel}"
    ]
    return "\n".join((*lines, *(f"  {style.dim(route)}" for route in routes)))


def back_text(left_alone: tuple[str, ...], style: Style) -> str:
    return "\n".join(
        (
            f"{style.good('restored')}: the cloud receives the traffic again",
            *_format_left_routes(left_alone),
        )
    )


def format_restored(service: RestoredService, style: Style) -> str:
    """Format the restored routes of an earlier run."""
    head = f"{style.good('restored')}: routes of `{service.service}` on {service.provider}"
    return "\n".join((head, *_format_left_routes(service.left_alone)))


def format_streamed(streamed: StreamedOutcome, _style: Style) -> str:
    calls = format_count(streamed.calls, "call")
    failed = f", {streamed.failed} failed" if streamed.failed else ""
    return f"{calls} of stage {streamed.stage}{failed}"


def format_restoration(outcome: RestoredOutcome, style: Style) -> str:
    if not outcome.services:
        return f"No routes of stage {outcome.stage} point to a tunnel."
    return "\n".join(format_restored(one, style) for one in outcome.services)


def _format_left_routes(routes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the routes changed by another process, which were left alone."""
    return tuple(f"  kept, because it was changed meanwhile: {route}" for route in routes)
