"""The edge to the terminal: results to stdout, talk to stderr, colour where it is wanted."""

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from fabric import interrupts
from fabric.app.settings import Settings
from fabric.engine.shortcuts.stored_answer import StoredAnswer
from fabric.model.amounts import plural
from fabric.model.problems import ExitCode, Problem
from fabric.model.report import Report
from fabric.views.report_text import report_text
from fabric.views.style import Style, shown
from fabric.views.words import problem_text, warning_lines

if TYPE_CHECKING:
    from fabric.app.shortcuts.command_line import CommandLine


# New in each process: no text that comes from elsewhere can hold our marks of colour.
_TOKEN = os.urandom(4).hex()


def safe(text: str) -> str:
    """A text as it goes to the terminal."""
    return shown(text, _TOKEN)


def wants_colour(choice: str, env: Mapping[str, str], *, terminal: bool) -> bool:
    """Flag, then FORCE_COLOR, then NO_COLOR and a dumb terminal, then whether one is there."""
    if choice != "auto":
        return choice == "always"
    if env.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    if env.get("NO_COLOR") or env.get("TERM") == "dumb":
        return False
    return terminal


class Screen(Struct, frozen=True):
    as_json: bool
    out: Style
    err: Style
    github: bool
    cwd: str

    @staticmethod
    def of(settings: Settings, *, as_json: bool, colour: str) -> "Screen":
        env = settings.env
        return Screen(
            as_json,
            Style(
                wants_colour(colour, env, terminal=settings.stdout_is_terminal) and not as_json,
                _TOKEN,
            ),
            Style(wants_colour(colour, env, terminal=settings.stderr_is_terminal), _TOKEN),
            settings.in_github,
            str(settings.cwd),
        )

    def command_line(self, argv: tuple[str, ...]) -> "CommandLine":
        """A command line, and how its answer would look if it were given again."""
        from fabric.app.shortcuts.command_line import CommandLine

        return CommandLine(argv, self.cwd, self.shown)

    def finish(self, report: Report) -> int:
        """Print a report and give the exit code that goes with it."""
        answer = self.shown(report)
        interrupts.held()
        streams = [(sys.stderr, answer.err), (sys.stdout, answer.out)]
        # What went wrong comes last, where it does not scroll away.
        for stream, text in reversed(streams) if report.problems else streams:
            if not _written(stream, text):
                return int(ExitCode.CANNOT_WRITE)
        return answer.code

    def shown(self, report: Report) -> StoredAnswer:
        """A report as text for both streams: the result to stdout, the talk to stderr."""
        if self.as_json:
            from fabric.views.report_json import as_document  # knows every kind of outcome

            out = json.dumps(as_document(report)) + "\n"
        else:
            text = report_text(report, self.out)
            out = safe(f"{text}\n") if text else ""
        talk = warning_lines(report.warnings, self.err)
        if not self.as_json:
            talk += self._problems(report)
        if report.notes:
            talk.append(report.notes)
        return StoredAnswer(_exit_code(report), out, safe("".join(f"{line}\n" for line in talk)))

    def _problems(self, report: Report) -> list[str]:
        """Errors; where a run is about many services, each one's together under its name."""
        is_wide = report.command.startswith("compose ")
        owners = report.owners or ("",) * len(report.problems)
        groups: dict[str, list[Problem]] = {}
        for owner, problem in zip(owners, report.problems, strict=True):
            groups.setdefault(owner, []).append(problem)
        lines: list[str] = []
        for owner, problems in groups.items():
            if is_wide and owner:
                lines.append(self.err.strong(f"{owner}: {plural(len(problems), 'error')}"))
            for problem in problems:
                lines.append(problem_text(problem, self.err))
                lines += [annotation(problem)] if self.github else []
        return lines


def _written(stream: TextIO | None, text: str) -> bool:
    """Whether text reached its stream; a reader who left early has seen enough."""
    if not text:
        return True
    if stream is None:
        return False
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        give_up(stream)
    except OSError as error:
        give_up(stream)
        with contextlib.suppress(OSError):
            os.write(
                2, f"error[disk/cannot-write] cannot write output: {error.strerror}\n".encode()
            )
        return False
    return True


def give_up(stream: TextIO) -> None:
    """Nothing may fail on what is left in the stream's buffer when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
        return int(ExitCode.FAILED)
    return int(report.exit_code)
