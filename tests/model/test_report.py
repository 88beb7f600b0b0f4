"""The answer of a command that failed, and a problem as JSON."""

from fabric.model.problems import ExitCode, FabricError, Place, Problem
from fabric.model.report import encode_problem, make_failure_report


def test_a_failed_command_reports_all_problems_and_the_first_exit_code() -> None:
    problems = (Problem("lock/held", "locked"), Problem("config/bad", "bad"))
    report = make_failure_report("deploy", FabricError(*problems))
    assert (report.command, report.problems) == ("deploy", problems)
    assert report.exit_code is ExitCode.LOCKED
    assert report.outcome is None


def test_a_problem_is_encoded_with_its_place() -> None:
    problem = Problem("config/bad", "bad", hint="fix it", where=Place("fabric.yml", 2, 4))
    assert encode_problem(problem) == {
        "code": "config/bad",
        "message": "bad",
        "hint": "fix it",
        "where": {"file": "fabric.yml", "line": 2, "column": 4},
    }


def test_a_problem_without_a_place_has_null() -> None:
    assert encode_problem(Problem("a/b", "c"))["where"] is None
