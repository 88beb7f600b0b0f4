"""The edge to the terminal: results to stdout, talk to stderr, colour where it is wanted."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from fabric.app.settings import Settings
from fabric.model.problems import ExitCode, Problem
from fabric.model.report import Report, as_document
from fabric.views.style import Style
from fabric.views.words import problem_text


def wants_colour(choice: str, env: Mapping[str, str], *, terminal: bool) -> bool:
    """Flag, then FORCE_COLOR, then NO_COLOR and a dumb terminal, then whether one is there."""
    if choice != "auto":
        return choice == "always"
    if env.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    if env.get("NO_COLOR") or env.get("TERM") == "dumb":
        return False
    return terminal


@dataclass(frozen=True, slots=True)
class Screen:
    as_json: bool
    out: Style
    err: Style
    github: bool

    @staticmethod
    def of(settings: Settings, *, as_json: bool, colour: str) -> "Screen":
        env = settings.env
        return Screen(
            as_json,
            Style(wants_colour(colour, env, terminal=settings.stdout_is_terminal) and not as_json),
            Style(wants_colour(colour, env, terminal=settings.stderr_is_terminal)),
            settings.in_github,
        )

    def finish(self, report: Report) -> int:
        """Print a report and give the exit code that goes with it."""
        for warning in report.warnings:
            self._say(problem_text(warning, self.err, severity="warning"))
        if self.as_json:
            sys.stdout.write(json.dumps(as_document(report)) + "\n")
        elif report.text:
            sys.stdout.write(report.text + "\n")
        if not self.as_json:
            self._tell_problems(report)
        if report.notes:
            self._say(report.notes)
        sys.stdout.flush()
        return _exit_code(report)

    def _tell_problems(self, report: Report) -> None:
        for problem in report.problems:
            self._say(problem_text(problem, self.err))
            if self.github:
                self._say(annotation(problem))

    def _say(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")


def annotation(problem: Problem) -> str:
    """A problem as GitHub shows it beside the line."""
    where = problem.where
    place = f" file={_escaped(where.file)},line={where.line},col={where.column}" if where else ""
    title = f"{',' if place else ' '}title={_escaped(problem.code)}"
    return f"::error{place}{title}::{_escaped(problem.message, inside=False)}"


def _escaped(text: str, *, inside: bool = True) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if inside else text


def _exit_code(report: Report) -> int:
    if report.problems and report.exit_code is ExitCode.OK:
        return ExitCode.FAILED
    return report.exit_code
