"""The result of one environment check and its severity."""

import json
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, convert
from msgspec.structs import asdict

from fabric.model.problems import Problem


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Check(Struct, frozen=True):
    """A check result. `severity` matters if it is not `ok`."""

    name: str
    ok: bool
    severity: Severity
    message: str
    fix: str = ""
    # That of the problem.
    code: str = ""

    @property
    def is_error(self) -> bool:
        return not self.ok and self.severity is Severity.ERROR

    @property
    def problem(self) -> Problem:
        return Problem(self.code or f"doctor/{self.name}", self.message, hint=self.fix)


def make_passed_check(name: str, message: str) -> Check:
    return Check(name, True, Severity.ERROR, message)  # noqa: FBT003 - what the name says


def make_failed_check(name: str, problem: Problem) -> Check:
    return _make_problem_check(name, problem, Severity.ERROR)


def make_warning_check(name: str, problem: Problem) -> Check:
    return _make_problem_check(name, problem, Severity.WARNING)


def _make_problem_check(name: str, problem: Problem, severity: Severity) -> Check:
    place = f"{problem.where}: " if problem.where and problem.where.line else ""
    message = f"{place}{problem.message}"
    return Check(
        name=name, ok=False, severity=severity, message=message, fix=problem.hint, code=problem.code
    )


def encode_checks(checks: Iterable[Check]) -> str:
    return json.dumps([asdict(one) for one in checks])


def decode_checks(text: str) -> tuple[Check, ...]:
    return convert(json.loads(text), tuple[Check, ...])
