"""The answer of a command: one value that becomes text or JSON at the very edge."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fabric.model.problems import ExitCode, FabricError, Problem

FORMAT_VERSION = 1


class Case(Struct, frozen=True):
    """How one task of a run ended."""

    service: str
    task: str
    status: str
    reason: str = ""
    ms: int = 0
    problems: tuple[Problem, ...] = ()


class Report(Struct, frozen=True):
    """`result` is the JSON result; `text` is the same for people; `notes` go to stderr.

    `owners` are the services of the problems, one for each, where they are known. `cases` are all
    tasks, `ties` pairs of services of which the second waits for the first: only in a report that
    was asked for in detail.
    """

    command: str
    result: Mapping[str, Any] | None = None
    text: str = ""
    notes: str = ""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    exit_code: ExitCode = ExitCode.OK
    owners: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    ties: tuple[tuple[str, str], ...] = ()


def failure(command: str, error: FabricError) -> Report:
    return Report(command, problems=error.problems, exit_code=error.exit_code)


def as_document(report: Report) -> dict[str, object]:
    """The JSON document of a report, the same shape for success and every failure."""
    document: dict[str, object] = {
        "ok": not report.problems,
        "command": report.command,
        "formatVersion": FORMAT_VERSION,
    }
    if report.result is not None:
        document["result"] = report.result
    if report.problems:
        document["error"] = {
            **problem_json(report.problems[0]),
            "problems": [problem_json(problem) for problem in report.problems],
        }
    return document


def problem_json(problem: Problem) -> dict[str, object]:
    where = problem.where
    place = where and {"file": where.file, "line": where.line, "column": where.column}
    return {
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "where": place or None,
    }
