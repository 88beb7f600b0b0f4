"""Text for checks: one line per check, with hints below warnings."""

from collections.abc import Iterator, Sequence

from fabric.model.amounts import format_count
from fabric.model.outcomes.queried import CheckRow, DoctorOutcome
from fabric.views.style import Style


def format_doctor(found: DoctorOutcome, _style: Style) -> str:
    width = max((len(row.name) for row in found.checks), default=0)
    lines = [line for row in found.checks for line in _format_check(row, width)]
    return "\n".join([*lines, _format_summary(found.checks)])


def _format_check(row: CheckRow, width: int) -> Iterator[str]:
    sign = "✓" if row.ok else "✗" if row.severity == "error" else "!"
    yield f"{sign} {row.name:<{width}}  {row.message}"
    # Errors are said once more at the end, each with what to do about it.
    if sign == "!" and row.fix:
        yield f"  {'':<{width}}  → {row.fix}"


def _format_summary(rows: Sequence[CheckRow]) -> str:
    bad = [row.severity for row in rows if not row.ok]
    if not bad:
        return f"All {format_count(len(rows), 'check')} passed."
    counts = [(bad.count(word), word) for word in ("error", "warning")]
    said = ", ".join(format_count(count, word) for count, word in counts if count)
    return f"{format_count(len(rows), 'check')}: {said}."
