"""Report a failed command line as text or JSON, with its exit code."""

import re
import sys
import traceback

import click

from fabric.app.settings import read_settings
from fabric.cli.screen import Screen
from fabric.cli.start import CommandStart
from fabric.interrupt_message import command_of
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import make_failure_report
from fabric.system.files.disk import no_access_error

_EXTRA = re.compile(r"Got (unexpected extra arguments?) \((.*)\)")
_QUOTED = re.compile(r"'([^']*)'")


def explain(argv: list[str], error: BaseException, start: CommandStart | None = None) -> int:
    """Report a failure. The raw arguments decide on JSON, so that usage errors follow `--json`
    too."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and "--json" not in argv:
        sys.stderr.write(f"{error.format_message()}\n")
        return int(ExitCode.USAGE)
    settings = start.settings if start else read_settings(to_work=False)
    screen = Screen.of(settings, as_json="--json" in argv, colour=_find_color_choice(argv))
    command = command_of(argv)
    return screen.finish(make_failure_report(command, _convert_error(error, command)))


def _find_color_choice(argv: list[str]) -> str:
    """Find the `--color` value in the raw arguments, as far as possible."""
    words = [part for word in argv for part in word.split("=", 1)]
    said = words[words.index("--color") + 1 :] if "--color" in words else []
    return said[0] if said and said[0] in ("always", "never") else "auto"


def _convert_error(error: BaseException, command: str) -> FabricError:
    match error:
        case FabricError():
            return error
        case click.UsageError():
            return _convert_usage_error(error, command)
        case PermissionError(filename=str()):
            return no_access_error(error)
        case _:
            return _convert_internal_error(error)


def _convert_usage_error(error: click.UsageError, words: str) -> FabricError:
    # An option without its value is found before the context of its command exists.
    program = words if words.startswith("fabric") else f"fabric {words}"
    command = error.ctx.command_path if error.ctx else program
    return FabricError(_build_usage_problem(error, command))


def _build_usage_problem(error: click.UsageError, command: str) -> Problem:
    hint = f"run: {command} --help"
    match error:
        case click.exceptions.NoArgsIsHelpError():
            return Problem("usage/no-command", "no command given", hint=hint)
        case click.NoSuchOption(option_name=option, possibilities=guesses):
            hint = f"did you mean `{guesses[0]}`?" if guesses else hint
            message = f"unknown option `{option}` of `{command}`"
            return Problem("usage/unknown-option", message, hint=hint)
        case click.MissingParameter(param=click.Parameter() as parameter):
            message = f"missing {parameter.param_type_name} {_name_parameter(parameter)}"
        case click.BadOptionUsage():
            message = f"{error.option_name} requires a value"
        case click.BadParameter(param=click.Parameter() as parameter):
            message = f"invalid value for {_name_parameter(parameter)}: {_format_reason(error)}"
            if isinstance(parameter.type, click.Choice):
                hint = f"use one of {', '.join(map(str, parameter.type.choices))}"
        case _:
            message = _EXTRA.sub(r"\1 `\2`", error.format_message().rstrip("."))
            message = message[:1].lower() + message[1:]
    return Problem("usage/bad-value", message, hint=hint)


def _name_parameter(parameter: click.Parameter) -> str:
    """Return the long form of an option, or an argument as the help page prints it."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return (parameter.name or "").upper().replace("_", "-")


def _format_reason(error: click.UsageError) -> str:
    """Format the refused value and the reason. The hint lists the choices of an option."""
    reason = _QUOTED.sub(r"`\1`", error.message.rstrip("."))
    return reason.partition(" is not one of ")[0]


def _convert_internal_error(error: BaseException) -> FabricError:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return FabricError(
        Problem(
            "internal/error",
            f"{type(error).__name__}: {error}",
            hint=f"report this bug in fabric, at {place.name}:{place.lineno}",
        )
    )
