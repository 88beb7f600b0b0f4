"""Text for the results of `generate`."""

from fabric.model.outcomes.generated import GenerateOutcome
from fabric.views.style import Style

_DONE = {"create": "created", "update": "changed", "replace": "replaced"}


def generate_text(made: GenerateOutcome, style: Style) -> str:
    if made.dry_run:
        lines = (_diff_line(line, style) for line in made.diff.split("\n"))
        return "\n".join([*lines, style.dim("Dry run: nothing was written.")])
    width = max(len(_DONE[one.change]) for one in made.files)
    rows = [f"{_DONE[one.change]:<{width}}  {one.path}" for one in made.files]
    return "\n".join([*rows, style.dim(f"Next: {made.next_step}")])


def _diff_line(line: str, style: Style) -> str:
    if line.startswith(("--- ", "+++ ")):
        return style.strong(line)
    if line.startswith("@@"):
        return style.note(line)
    if line.startswith("+"):
        return style.good(line)
    return style.bad(line) if line.startswith("-") else line
