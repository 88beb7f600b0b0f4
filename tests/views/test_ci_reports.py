"""JUnit files: each failure once."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from fabric.app.running.run_problems import with_functions
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.report import Case, Report, make_failure_report
from fabric.views.ci_reports import format_job_summary, format_junit
from tests.support.outcomes import (
    deploy_outcome,
    plan_outcome,
    planned_service,
    planned_task,
    service_end,
)

HOSTILE = "a<b>&\"'|`x`\n]]>\x00\x1b[31m\ud800 [l](javascript:x) <!-- ![i](u) #"
BROKEN = Problem("build/failed", HOSTILE, "see `y`", Place("src/a.ts", 3, 4), "  1 | code")
CASES = (
    Case("api", "build:api/a", "ran", "first build", 1234),
    Case("api", "package:api/a", "skipped", "up to date"),
    Case("site", "build:site/b", "failed", "it broke", 5, (BROKEN,)),
    Case("site", "deploy:site/b@x", "blocked", "depends on build:site/b, which did not succeed"),
    Case("site", "deploy:site/c@x", "cancelled", "the run was interrupted"),
    Case("", "the end of the run", "failed"),
)
SHARED = Problem("build/failed", "invalid syntax")


def parsed(*cases: Case) -> ET.Element:
    return ET.fromstring(format_junit(Report("compose deploy", cases=tuple(cases))))  # noqa: S314: our own text


def test_there_is_a_suite_for_each_service_and_a_case_for_each_task() -> None:
    root = parsed(*CASES)
    assert (root.tag, root.get("name")) == ("testsuites", "fabric compose deploy")
    counts = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "6", "failures": "2", "errors": "0", "skipped": "3"}
    suites = {one.get("name"): one for one in root}
    assert list(suites) == ["", "api", "site"]
    cases = [(one.get("name"), one.get("classname"), one.get("time")) for one in suites["api"]]
    assert cases == [("build:api/a", "api", "1.234"), ("package:api/a", "api", "0.000")]


def test_tasks_that_did_not_run_are_skipped_with_a_reason() -> None:
    said = [one.get("message") for one in parsed(*CASES).iter("skipped")]
    assert said == [
        "up to date",
        "blocked: depends on build:site/b, which did not succeed",
        "cancelled: the run was interrupted",
    ]


def test_failure_has_code_message_and_hint() -> None:
    failure = next(iter(parsed(*CASES[2:3]).iter("failure")))
    assert failure.get("type") == "build/failed"
    assert "a<b>&\"'|`x`\n]]>" in str(failure.get("message"))
    assert str(failure.text).startswith("src/a.ts:3:4: a<b>")
    assert str(failure.text).endswith("  1 | code\nhint: see `y`")


def test_no_credential_gets_into_a_report() -> None:
    problem = Problem("deploy/failed", "API_TOKEN=hunter22 at https://me:pass@host.example/x")
    text = format_junit(
        Report("deploy", cases=(Case("api", "deploy:api@x", "failed", "", 1, (problem,)),))
    )
    report = Report("deploy", deploy_outcome(), text="x", problems=(problem,))
    for said in (text, format_job_summary(report)):
        assert "hunter22" not in said
        assert "pass@" not in said


def test_a_run_without_tasks_is_well_formed_too() -> None:
    assert parsed().get("tests") == "0"


# Markdown.


def plan(*names: str, ties: tuple[tuple[str, str], ...] = ()) -> str:
    outcome = plan_outcome(tuple(map(planned_service, names)))
    return format_job_summary(
        Report("compose plan", outcome, text="x\nPlan: 1 to create.", ties=ties)
    )


def test_a_plan_is_a_table_and_a_picture_of_services() -> None:
    said = plan("api", "site", ties=(("api", "site"),))
    assert said.startswith("### fabric compose plan (dev)\n\nPlan: 1 to create.\n\n| Service |")
    assert "| api | cloud1-lambda | main | + create |" in said
    assert "```mermaid\nflowchart LR\n" in said
    assert "  s0 --> s1" in said


def test_a_deploy_shows_status_address_and_errors() -> None:
    outcome = deploy_outcome(
        service_end("api", "deployed", "created", "https://x.example/{id}"),
        service_end("site", "failed", "failed"),
    )
    said = format_job_summary(Report("deploy", outcome, problems=(BROKEN,)))
    assert "| api | cloud1-lambda | main | created | https://x.example/{id} |" in said
    assert '  s1["site"]:::failed' in said
    assert "- **build/failed** src/a.ts:3:4: a&lt;b&gt;" in said


def test_summary_without_changes_is_one_line() -> None:
    same = plan_outcome((planned_service("api", "none"),), planned_task("api", "skip"))
    said = format_job_summary(Report("compose plan", same, ties=(("api", "site"),)))
    assert said == "### fabric compose plan (dev)\n\nNo changes.\n\n"
    told = Report("deploy", deploy_outcome(service_end("api", "unchanged", "unchanged")))
    line = "Nothing to do: 1 function up to date."
    assert format_job_summary(told) == f"### fabric deploy (dev)\n\n{line}\n\n"


def test_failure_before_an_outcome_is_reported() -> None:
    assert format_job_summary(Report("plan", problems=(BROKEN,))).startswith(
        "### fabric plan\n\n- **build/"
    )


def test_plan_with_only_tasks_is_shown() -> None:
    outcome = plan_outcome((planned_service("api", "none"),), planned_task("api", "run"))
    said = format_job_summary(Report("plan", outcome))
    assert "| api | cloud1-lambda | main | no change |" in said


def test_nothing_breaks_out_of_its_cell_or_its_picture() -> None:
    said = plan(HOSTILE.replace("\ud800", ""), "site")
    row = next(line for line in said.splitlines() if "main" in line)
    assert row.replace("\\|", "").count("|") == 5
    assert "<!--" not in said
    assert "[l](" not in said.replace("\\[", "").replace("\\]", "")
    picture = said.partition("```mermaid\n")[2].partition("\n```")[0]
    node = next(line for line in picture.splitlines() if line.startswith("  s0["))
    assert node.count('"') == 2
    assert "`" not in picture


@pytest.mark.parametrize(("count", "nodes"), [(60, 60), (61, 61), (500, 61)])
def test_large_plans_are_capped(count: int, nodes: int) -> None:
    names = [f"s{number}" for number in range(count)]
    said = plan(*names, ties=tuple(pairwise(names)))
    assert said.count("]:::") == nodes
    assert ("more" in said) == (count > 60)
    assert said.count("| main |") == min(count, 200)
    assert len(said) < 60_000


def test_nothing_to_show_is_just_the_sum() -> None:
    assert plan() == "### fabric compose plan (dev)\n\nPlan: 1 to create.\n\n"


def test_control_characters_are_shown_and_not_obeyed() -> None:
    problem = Problem("a/b", "red \x1b[31m and a bell \x07")
    text = format_job_summary(make_failure_report("deploy", FabricError(problem)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "x1b" in text


def test_a_problem_of_several_functions_is_a_failure_of_their_cases_only() -> None:
    cases = tuple(Case("shop", f"build:shop/{name}", "failed", problems=(SHARED,)) for name in "ab")
    shared = with_functions(SHARED, ["a", "b"])
    text = format_junit(Report("build", problems=(shared,), cases=cases))
    assert text.count("<testcase") == text.count("<failure") == 2
