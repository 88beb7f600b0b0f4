"""A run as JUnit XML: a suite for each service, a case for each task."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.model.report import Case, Report
from fabric.model.secrecy import redact_credentials

# What XML 1.0 has no way to say, not even escaped.
_UNSAYABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def format_junit(report: Report) -> str:
    name = f"fabric {report.command}"
    cases = (*report.cases, *_list_run_cases(name, report))
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.service, []).append(case)
    lines = [line for name in sorted(suites) for line in _format_suite(name, suites[name])]
    head = f"<testsuites {_format_name(name)} {_format_counts(cases)}>"
    return "\n".join([_HEAD, head, *lines, "</testsuites>\n"])


def _list_run_cases(name: str, report: Report) -> tuple[Case, ...]:
    """List failures outside tasks as separate cases, so that no failure looks like a success."""
    failed = (case for case in report.cases if case.status == "failed")
    told = {_remove_function_names(one) for case in failed for one in case.problems}
    rest = tuple(one for one in report.problems if _remove_function_names(one) not in told)
    return (Case("fabric", name, "failed", problems=rest),) if rest else ()


def _remove_function_names(problem: Problem) -> Problem:
    """Remove the function names of a shared problem, because a case is about one function."""
    return replace(problem, message=problem.message.partition(" (functions `")[0])


def _format_suite(name: str, cases: Sequence[Case]) -> Iterable[str]:
    yield f"  <testsuite {_format_name(name)} {_format_counts(cases)}>"
    for case in cases:
        yield from _format_case(case)
    yield "  </testsuite>"


def _format_case(case: Case) -> Iterable[str]:
    head = f'    <testcase {_format_name(case.task)} classname="{_escape_xml(case.service)}" '
    head += f'time="{case.ms / 1000:.3f}"'
    if case.status == "ran":
        yield f"{head}/>"
        return
    yield f"{head}>"
    if case.status == "failed":
        yield from (
            _format_failure(one) for one in case.problems or (_unknown_failure_problem(case),)
        )
    else:
        yield f'      <skipped message="{_escape_xml(_format_skipped(case))}"/>'
    yield "    </testcase>"


def _format_skipped(case: Case) -> str:
    return case.reason if case.status == "skipped" else f"{case.status}: {case.reason}"


def _unknown_failure_problem(case: Case) -> Problem:
    return Problem("run/failed", case.reason or "failed")


def _format_failure(problem: Problem) -> str:
    place = f"{problem.where}: " if problem.where else ""
    parts = (f"{place}{problem.message}", problem.frame, problem.hint and f"hint: {problem.hint}")
    body = _escape_xml("\n".join(part for part in parts if part))
    head = f'type="{_escape_xml(problem.code)}" message="{_escape_xml(problem.message)}"'
    return f"      <failure {head}>{body}</failure>"


def _format_name(name: str) -> str:
    return f'name="{_escape_xml(name)}"'


def _format_counts(cases: Sequence[Case]) -> str:
    failed = sum(case.status == "failed" for case in cases)
    skipped = sum(case.status not in ("ran", "failed") for case in cases)
    seconds = sum(case.ms for case in cases) / 1000
    return (
        f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}" '
        f'time="{seconds:.3f}"'
    )


def _escape_xml(text: str) -> str:
    """Escape for XML, including line breaks, and redact credentials."""
    plain = _UNSAYABLE.sub("\ufffd", redact_credentials(text))
    return escape(plain).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")
