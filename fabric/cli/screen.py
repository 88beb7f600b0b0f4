"""Terminal output: results to stdout, progress to stderr, color if enabled."""

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
from fabric.model.problems import ExitCode, Problem
from fabric.model.report import Report
from fabric.model.text.amounts import format_count
from fabric.views.messages import format_problem, format_warnings
from fabric.views.report_text import report_text
from fabric.views.style import Style, escape_for_display

if TYPE_CHECKING:
    from fabric.app.command import CommandLine


# New in each process: no text that comes from elsewhere can hold our marks of colour.
_TOKEN = os.urandom(4).hex()


def escape_for_terminal(text: str) -> str:
    """Escape a text for the terminal."""
    return escape_for_display(text, _TOKEN)


def is_color_enabled(choice: str, env: Mapping[str, str], *, terminal: bool) -> bool:
    """Return whether to use color: flag, FORCE_COLOR, NO_COLOR or a dumb terminal, then terminal
    detection."""
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
                is_color_enabled(colour, env, terminal=settings.stdout_is_terminal) and not as_json,
                _TOKEN,
            ),
            Style(is_color_enabled(colour, env, terminal=settings.stderr_is_terminal), _TOKEN),
            settings.in_github,
            str(settings.cwd),
        )

    def command_line(self, argv: tuple[str, ...]) -> "CommandLine":
        """Return a command line with the output format of its answer."""
        from fabric.app.command import CommandLine

        return CommandLine(argv, self.cwd, self.format_report)

    def finish(self, report: Report) -> int:
        """Print a report and return its exit code."""
        answer = self.format_report(report)
        interrupts.hold_signals()
        streams = [(sys.stderr, answer.err), (sys.stdout, answer.out)]
        # What went wrong comes last, where it does not scroll away.
        for stream, text in reversed(streams) if report.problems else streams:
            if not _write_text(stream, text):
                return int(ExitCode.CANNOT_WRITE)
        return answer.code

    def format_report(self, report: Report) -> StoredAnswer:
        """Format a report for both streams: result to stdout, progress to stderr."""
        if self.as_json:
            from fabric.views.report_json import encode_report  # knows every kind of outcome

            out = json.dumps(encode_report(report)) + "\n"
        else:
            text = report_text(report, self.out)
            out = escape_for_terminal(f"{text}\n") if text else ""
        talk = format_warnings(report.warnings, self.err)
        if not self.as_json:
            talk += self._list_problem_lines(report)
        if report.notes:
            talk.append(report.notes)
        return StoredAnswer(
            _exit_code(report), out, escape_for_terminal("".join(f"{line}\n" for line in talk))
        )

    def _list_problem_lines(self, report: Report) -> list[str]:
        """List the errors, grouped by service if the run has several."""
        is_wide = report.command.startswith("compose ")
        owners = report.owners or ("",) * len(report.problems)
        groups: dict[str, list[Problem]] = {}
        for owner, problem in zip(owners, report.problems, strict=True):
            groups.setdefault(owner, []).append(problem)
        lines: list[str] = []
        for owner, problems in groups.items():
            if is_wide and owner:
                lines.append(self.err.strong(f"{owner}: {format_count(len(problems), 'error')}"))
            for problem in problems:
                lines.append(format_problem(problem, self.err))
                lines += [format_annotation(problem)] if self.github else []
        return lines


def _write_text(stream: TextIO | None, text: str) -> bool:
    """Write text. Returns false if the reader closed the stream, which is not an error."""
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
    """Discard the stream's buffer, so that nothing fails when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def format_annotation(problem: Problem) -> str:
    """Format a problem as a GitHub annotation."""
    where = problem.where
    place = (
        f" file={_escape_annotation(where.file)},line={where.line},col={where.column}"
        if where
        else ""
    )
    title = f"{',' if place else ' '}title={_escape_annotation(problem.code)}"
    return f"::error{place}{title}::{_escape_annotation(problem.message, inside=False)}"


def _escape_annotation(text: str, *, inside: bool = True) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if inside else text


def _exit_code(report: Report) -> int:
    if report.problems and report.exit_code is ExitCode.OK:
        return int(ExitCode.FAILED)
    return int(report.exit_code)
