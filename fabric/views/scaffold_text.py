"""Text for new projects."""

from fabric.model.outcomes.scaffolded import InitOutcome
from fabric.views.style import Style


def init_text(made: InitOutcome, style: Style) -> str:
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
