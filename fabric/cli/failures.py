"""Report a failed command line as text or JSON, with its exit code."""

import sys
import traceback

import click

from fabric.app.settings import read_settings
from fabric.cli.screen import Screen
from fabric.cli.start import CommandStart
from fabric.interrupt_message import command_of
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import make_failure_report
from fabric.system.disk import no_access_error


def explain(argv: list[str], error: BaseException, start: CommandStart | None = None) -> int:
    """Report a failure. The raw arguments decide on JSON, so that usage errors follow `--json`
    too."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and "--json" not in argv:
        sys.stderr.write(f"{error.format_message()}\n")
        return int(ExitCode.USAGE)
    settings = start.settings if start else read_settings(to_work=False)
    screen = Screen.of(settings, as_json="--json" in argv, colour=_find_color_choice(argv))
    return screen.finish(make_failure_report(command_of(argv), _convert_error(error)))


def _find_color_choice(argv: list[str]) -> str:
    """Find the `--color` value in the raw arguments, as far as possible."""
    words = [part for word in argv for part in word.split("=", 1)]
    said = words[words.index("--color") + 1 :] if "--color" in words else []
    return said[0] if said and said[0] in ("always", "never") else "auto"


def _convert_error(error: BaseException) -> FabricError:
    match error:
        case FabricError():
            return error
        case click.UsageError():
            return _convert_usage_error(error)
        case PermissionError(filename=str()):
            return no_access_error(error)
        case _:
            return _convert_internal_error(error)


def _convert_usage_error(error: click.UsageError) -> FabricError:
    message = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx else "fabric"
    hint = f"run: {command} --help"
    match error:
        case click.exceptions.NoArgsIsHelpError():
            hint = f"run: {command} --help"
            return FabricError(Problem("usage/no-command", "no command given", hint=hint))
        case click.NoSuchOption():
            guess = f"did you mean `{error.possibilities[0]}`?" if error.possibilities else hint
            message = f"unknown option `{error.option_name}` of `{command}`"
            return FabricError(Problem("usage/unknown-option", message, hint=guess))
        case _:
            message = message[:1].lower() + message[1:]
            return FabricError(Problem("usage/bad-value", message, hint=hint))


def _convert_internal_error(error: BaseException) -> FabricError:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return FabricError(
        Problem(
            "internal/error",
            f"{type(error).__name__}: {error}",
            hint=f"report this bug in fabric, at {place.name}:{place.lineno}",
        )
    )
