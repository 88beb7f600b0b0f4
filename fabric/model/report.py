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
    """`cases` are all tasks and `ties` dependency pairs, only in a detailed report."""

    command: str
    # The result as a value.
    outcome: JsonStruct | None = None
    # Replaces the text form of the outcome.
    text: str | None = None
    # Printed to stderr.
    notes: str = ""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    exit_code: ExitCode = ExitCode.OK
    # The services of the problems, if known.
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
