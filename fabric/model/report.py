"""The answer of a command: one value that becomes text or JSON at the very edge."""

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject, JsonStruct
from fabric.model.problems import ExitCode, FabricError, Problem


class Case(Struct, frozen=True):
    """How one task of a run ended."""

    service: str
    task: str
    status: str
    reason: str = ""
    ms: int = 0
    problems: tuple[Problem, ...] = ()


class Report(Struct, frozen=True):
    """`outcome` is what was asked for, as a value; `notes` go to stderr.

    `text` is what people are told in place of what views would make of the outcome. `owners` are
    the services of the problems, one for each, where they are known. `cases` are all tasks, `ties`
    pairs of services of which the second waits for the first: only in a report that was asked for
    in detail.
    """

    command: str
    outcome: JsonStruct | None = None
    text: str | None = None
    notes: str = ""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    exit_code: ExitCode = ExitCode.OK
    owners: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    ties: tuple[tuple[str, str], ...] = ()


def failure(command: str, error: FabricError) -> Report:
    return Report(command, problems=error.problems, exit_code=error.exit_code)


def problem_json(problem: Problem) -> JsonObject:
    where = problem.where
    place: JsonObject | None = None
    if where:
        place = {"file": where.file, "line": where.line, "column": where.column}
    return {
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "where": place,
    }
