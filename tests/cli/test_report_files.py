"""What a run tells besides its answer: logs as they are wanted, JUnit XML, a job's summary."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.in_process import compose
from tests.support.project import Project, handler
from tests.support.tool import Tool


def shop(tmp_path: Path) -> Project:
    return compose(tmp_path, site=("api",), api=(), jobs=())


def break_it(made: Project, *services: str) -> None:
    made.write({f"{one}/main.py": "def handler(:\n" for one in services})


# Logs.


def test_each_service_has_a_line_when_its_last_task_has_ended(tmp_path: Path) -> None:
    err = shop(tmp_path).fabric("compose", "build").err
    for name in ("site", "api", "jobs"):
        assert re.search(rf"^✓ {name}: 1 ran \(\d", err, re.MULTILINE)


def test_single_service_has_no_service_lines(tmp_path: Path) -> None:
    err = shop(tmp_path).fabric("build", cwd="jobs").err
    assert "✓ build:jobs/main" in err
    assert "✓ jobs" not in err


def test_errors_only_prints_failures_and_none_prints_only_the_result(tmp_path: Path) -> None:
    made = shop(tmp_path)
    break_it(made, "api")
    quiet = made.fabric("compose", "package", "--output-logs", "errors-only")
    assert quiet.code == 2
    assert quiet.err.startswith("✗ build:api/main failed")
    assert "✗ api failed: 1 failed, 1 blocked" in quiet.err
    assert "jobs" not in quiet.err
    silent = made.fabric("compose", "package", "--output-logs", "none")
    assert silent.err.startswith("api: 1 error\nerror[")
    assert "api/main.py" in silent.err


def test_tool_output_is_printed_only_on_failure(tmp_path: Path) -> None:
    made = shop(tmp_path)
    tool = Tool(tmp_path / "tool")
    words = ("compose", "deploy", "--force", "--output-logs")
    assert "the tool was here" in made.fabric(*words, "full", env=tool.env()).err
    assert not made.fabric(*words, "errors-only", env=tool.env()).err
    tool.answers("", code=3)
    assert "the tool was here" in made.fabric(*words, "errors-only", env=tool.env()).err


def test_errors_stand_together_by_service(tmp_path: Path) -> None:
    made = shop(tmp_path)
    break_it(made, "api", "jobs")
    err = made.fabric("compose", "build", "--output-logs", "none").err
    assert re.findall(r"^(\w+): 1 error$", err, re.MULTILINE) == ["api", "jobs"]


def test_an_unknown_kind_of_logs_is_a_usage_error(tmp_path: Path) -> None:
    assert shop(tmp_path).fabric("compose", "build", "--output-logs", "some").code == 64


# JUnit XML.


def outcomes(path: Path) -> dict[str, str]:
    """Every case with the kind of its end."""
    root = ET.parse(path).getroot()  # noqa: S314: our own file
    return {
        str(case.get("name")): next((one.tag for one in case), "passed")
        for suite in root
        for case in suite
    }


def test_junit_of_a_failing_run_is_well_formed_and_names_failures(tmp_path: Path) -> None:
    made = shop(tmp_path)
    break_it(made, "api")
    assert made.fabric("compose", "package", "--junit", "out/junit.xml").code == 2
    assert outcomes(made.root / "out/junit.xml") == {
        "build:api/main": "failure",
        "package:api/main": "skipped",
        **{
            f"{kind}:{one}/main": "passed"
            for one in ("site", "jobs")
            for kind in ("build", "package")
        },
    }
    text = (made.root / "out/junit.xml").read_text()
    assert "api/main.py" in text


@pytest.mark.parametrize(
    "words",
    [("build",), ("package",), ("deploy",), ("compose", "build"), ("compose", "deploy")],
    ids=" ".join,
)
def test_up_to_date_tasks_are_skipped_in_junit(words: tuple[str, ...], tmp_path: Path) -> None:
    made = shop(tmp_path)
    cwd = "" if words[0] == "compose" else "jobs"
    for expected in ("passed", "skipped", "skipped"):
        done = made.fabric(*words, "--junit", "junit.xml", cwd=cwd)
        assert done.code == 0
        assert set(outcomes(made.root / cwd / "junit.xml").values()) == {expected}


@pytest.mark.parametrize("words", [("build",), ("deploy",), ("plan",)], ids=" ".join)
def test_a_command_that_fails_before_its_run_leaves_its_files_too(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    made, page = shop(tmp_path), tmp_path / "summary.md"
    made.write({"api/fabric.yml": "service: api\n", "junit.xml": "of an earlier run"})
    junit = () if words == ("plan",) else ("--junit", "junit.xml")
    done = made.json("compose", *words, *junit, env={"GITHUB_STEP_SUMMARY": str(page)})
    assert done.code == 65
    assert done.error["problems"]
    if junit:
        assert outcomes(made.root / "junit.xml") == {f"fabric compose {words[0]}": "failure"}
        assert "api/fabric.yml" in (made.root / "junit.xml").read_text()
    if words != ("build",):
        assert page.read_text().startswith(f"### fabric compose {words[0]}\n")
        assert "config/missing-key" in page.read_text()


def test_a_file_that_cannot_be_written_stops_the_run_before_it_begins(tmp_path: Path) -> None:
    made = shop(tmp_path)
    done = made.json("compose", "deploy", "--junit", "fabric.compose.yml/junit.xml")
    assert (done.code, done.error["code"]) == (73, "disk/cannot-write")
    assert not list(made.root.glob("*/.fabric/state"))


# The summary of a job.


def test_plans_and_deploys_are_appended_to_the_jobs_summary(tmp_path: Path) -> None:
    made = shop(tmp_path)
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    env = {"GITHUB_STEP_SUMMARY": str(page)}
    for verb in ("plan", "plan", "build", "deploy", "deploy"):
        assert made.fabric("compose", verb, env=env).code == 0
    heads = [line for line in page.read_text().splitlines() if line.startswith(("#", "before"))]
    plan, deploy = "### fabric compose plan (dev)", "### fabric compose deploy (dev)"
    assert heads == ["before", plan, plan, deploy, deploy]
    assert "| api | cloud1-lambda | main | created |" in page.read_text()
    assert page.read_text().count("```mermaid") == 3


def test_a_stored_answer_does_not_keep_a_summary_from_being_written(tmp_path: Path) -> None:
    made = shop(tmp_path)
    page = tmp_path / "summary.md"
    assert made.fabric("compose", "deploy").code == 0
    assert made.fabric("compose", "plan").out == made.fabric("compose", "plan").out
    assert made.fabric("compose", "plan", env={"GITHUB_STEP_SUMMARY": str(page)}).code == 0
    assert page.read_text() == "### fabric compose plan (dev)\n\nNo changes.\n\n"


def test_a_summary_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    done = shop(tmp_path).fabric("compose", "plan", env={"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert done.code == 0
    assert "warning[disk/summary]" in done.err


# Past runs.


def test_compose_runs_list_only_runs_of_the_compose_file(
    tmp_path: Path,
) -> None:
    made = shop(tmp_path)
    assert made.fabric("compose", "runs").out == "No runs yet.\n"
    assert made.fabric("compose", "build").code == 0
    made.write({"jobs/main.py": handler("more")})
    assert made.fabric("build", cwd="jobs").code == 0
    rows = made.json("compose", "runs", "-f", "..", cwd="api").result["runs"]
    assert [row["command"] for row in rows] == ["compose build"]
