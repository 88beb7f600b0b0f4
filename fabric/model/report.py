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
    """`outcome` is the result as a value. `notes` are printed to stderr.

    `text` replaces the text form of the outcome. `owners` are the services of the problems, if
    known. `cases` are all tasks and `ties` dependency pairs, only in a detailed report.
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


def make_failure_report(command: str, error: FabricError) -> Report:
    return Report(command, problems=error.problems, exit_code=error.exit_code)


def encode_problem(problem: Problem) -> JsonObject:
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
