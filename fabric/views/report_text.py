"""Reports as text, by kind of outcome."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fabric.model.outcomes.built import BuildOutcome
from fabric.model.outcomes.generated import InitOutcome
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.report import Report
from fabric.views.messages import build_text
from fabric.views.style import Style


def _init_text(made: InitOutcome, style: Style) -> str:
    kept = (style.dim(f"  kept unchanged: {', '.join(made.kept)}"),) if made.kept else ()
    return "\n".join(
        (
            f"{style.good('✓')} {style.strong(made.service)}: {made.title}",
            *(f"  {path}" for path in made.files),
            *kept,
            *((made.advice,) if made.advice else ()),
            f"Next: {' && '.join(made.next)}",
        )
    )


Views: TypeAlias = Mapping[type[JsonStruct], Callable[..., str]]


def report_text(report: Report, style: Style) -> str:
    if report.text is not None or report.outcome is None:
        return report.text or ""
    return format_outcome(report.outcome, style)


def format_outcome(outcome: JsonStruct, style: Style) -> str:
    kind = type(outcome)
    view = _AT_HAND.get(kind) or _load_other_views()[kind]
    return view(outcome, style)


_AT_HAND: Views = {BuildOutcome: build_text, InitOutcome: _init_text}


def _load_other_views() -> Views:
    """Load the other views, separately because most runs are builds and need none."""
    from fabric.views.outcome_texts import TEXTS

    return TEXTS
