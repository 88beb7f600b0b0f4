"""Outcomes in words: each kind has its own, and a report may say something else instead."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fabric.model.names import Verb
from fabric.model.outcomes import built, deployed, planned, queried
from fabric.model.outcomes.built import BuildOutcome, BuiltArtifact, WhenRead
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.model.outcomes.planned import ChangedInput, ExplainOutcome
from fabric.model.outcomes.queried import InvokeOutcome, ListedService, ServicesOutcome
from fabric.model.report import Report
from fabric.views.outcome_texts import TEXTS
from fabric.views.report_text import format_outcome, report_text
from fabric.views.style import Style
from tests.support.outcomes import plan_outcome, planned_service, planned_task

PLAIN = Style()
KINDS: set[type[JsonStruct]] = {
    kind
    for module in (built, deployed, queried, planned)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, JsonStruct) and kind.__name__.endswith("Outcome")
}


def unread() -> Sequence[BuiltArtifact]:
    pytest.fail("nobody asked for the rows")


@pytest.mark.parametrize("kind", sorted(KINDS, key=str))
def test_there_are_words_for_every_kind_of_outcome(kind: type[JsonStruct]) -> None:
    assert kind is BuildOutcome or kind in TEXTS


def test_build_text_lists_only_new_artifacts() -> None:
    new = BuiltArtifact("api", "b", "b.zip", "cd", 20, cached=False, reason="", saved_ms=0)
    outcome = BuildOutcome(
        Verb.BUILD, WhenRead(unread), (new,), ran=1, cached=6999, failed=0, blocked=0, ms=1500
    )
    said = format_outcome(outcome, PLAIN)
    assert said == "b.zip  20 B\nBuild: 1 run, 6999 up to date (1.5 s)."


def test_build_with_nothing_to_do_reports_it() -> None:
    outcome = BuildOutcome(
        Verb.PACKAGE, WhenRead(unread), (), ran=0, cached=2, failed=0, blocked=0, ms=0
    )
    assert format_outcome(outcome, PLAIN) == "Nothing to do: 2 tasks up to date."
    cut_off = replace(outcome, left=3)
    assert format_outcome(cut_off, PLAIN).startswith(
        "Package: 0 run, 2 up to date, 3 not started ("
    )


def test_plan_counts_up_to_date_tasks_and_lists_the_rest() -> None:
    services = (planned_service("api"), planned_service("site", "none"))
    outcome = plan_outcome(services, planned_task("api", "run"), planned_task("site", "skip"))
    assert format_outcome(outcome, PLAIN).splitlines() == [
        "api on cloud1-lambda (simulated)",
        "  + main  GET /",
        "",
        "  run   build:api/main  because",
        "",
        "Plan: 1 to create, 0 to update, 0 to delete; 2 tasks: 1 run, 1 up to date.",
    ]


def test_an_explanation_names_each_input_with_old_and_new() -> None:
    changed = (ChangedInput("file", "a.js", "", "ab" * 32),)
    outcome = ExplainOutcome("build:api/a", "run", "a.js is new", changed, inputs=12)
    assert format_outcome(outcome, PLAIN).splitlines() == [
        "build:api/a: run, a.js is new",
        f"  file a.js  absent -> {'ab' * 6}",
    ]


def test_colour_is_the_screens_affair() -> None:
    outcome = ServicesOutcome((ListedService("api", "api/fabric.yml", ("db",)),))
    assert format_outcome(outcome, PLAIN) == "api  api/fabric.yml  depends on db"
    assert format_outcome(outcome, Style(colour=True)) != format_outcome(outcome, PLAIN)


def test_an_answer_of_a_function_is_shown_as_json() -> None:
    outcome = InvokeOutcome("hello", "x", simulated=True, response={"a": None}, logs="", ms=1)
    assert format_outcome(outcome, PLAIN) == '{"a": null}'


def test_report_text_takes_precedence_over_the_outcome() -> None:
    outcome = ServicesOutcome((ListedService("api", "x", ()),))
    assert report_text(Report("compose list", outcome, text="Nothing."), PLAIN) == "Nothing."
    assert report_text(Report("compose list", outcome, text=""), PLAIN) == ""
    assert report_text(Report("compose list"), PLAIN) == ""
