"""Lines and traces as people read them: one row each, whatever others have made up."""

from msgspec.structs import replace

from fabric.model.observed import SECOND, LogLine
from fabric.model.outcomes.watched import StepRow, TracedRow, TracesOutcome
from fabric.views.observed_text import format_log_line, format_traces
from fabric.views.style import Style

_LINE = LogLine(1_577_934_245 * SECOND, "shop", "hello", "cloud1-lambda", "said")
_AT = "2020-01-02T03:04:05.000Z"


def step(name: str, parent: str) -> StepRow:
    return StepRow(name, parent, name, _AT, 1.0, "ok")


def drawn(*steps: StepRow, ident: str = "t1") -> list[str]:
    row = TracedRow(ident, "shop", "hello", "cloud1-lambda", _AT, 5.0, "ok", steps)
    return format_traces(TracesOutcome((row,), _AT, _AT, as_trees=True), Style()).splitlines()


def test_a_request_with_line_ends_in_its_name_stays_in_its_row() -> None:
    text = format_log_line(replace(_LINE, request="a\nb\tc"), Style())
    assert "\n" not in text
    assert "a\\nb\\tc  said" in text


def test_a_line_has_its_year() -> None:
    assert format_log_line(_LINE, Style()).startswith("2020-01-0")


def test_a_trace_and_its_steps_take_a_row_each() -> None:
    assert len(drawn(step("ask\nfor", ""), ident="t\r\n1")) == 2


def test_steps_in_a_parent_cycle_are_printed_once() -> None:
    assert [one.split()[1] for one in drawn(step("a", "b"), step("b", "a"))[1:]] == ["a", "b"]
    found = drawn(step("root", ""), step("a", "b"), step("b", "a"), step("c", "a"))
    assert sorted(one.split("─ ")[1].split()[0] for one in found[1:]) == ["a", "b", "c", "root"]


def test_step_that_is_its_parent_is_printed() -> None:
    assert len(drawn(step("a", "a"))) == 2
