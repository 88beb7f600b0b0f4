"""Text for diverted and restored routes."""

from fabric.model.amounts import format_count
from fabric.model.outcomes.queried import RestoredOutcome, RestoredService, StreamedOutcome
from fabric.views.style import Style


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
