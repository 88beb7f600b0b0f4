"""JUnit files: each failure once."""

from fabric.app.running.run_problems import with_functions
from fabric.model.problems import Problem
from fabric.model.report import Case, Report
from fabric.views.junit import format_junit

SHARED = Problem("build/failed", "invalid syntax")


def test_a_problem_of_several_functions_is_a_failure_of_their_cases_only() -> None:
    cases = tuple(Case("shop", f"build:shop/{name}", "failed", problems=(SHARED,)) for name in "ab")
    shared = with_functions(SHARED, ["a", "b"])
    text = format_junit(Report("build", problems=(shared,), cases=cases))
    assert text.count("<testcase") == text.count("<failure") == 2
