"""The command line: a lazy group of commands, and the one place where failures become exits."""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from fabric.cli import commands_table as table
from fabric.cli.fail import explain_failure, say
from fabric.cli.group import Group
from fabric.manifest import VERSION
from fabric.model.problems import ExitCode, FabricError, Problem


class LazyGroup(Group):
    """Knows its commands by name and one line; imports one only when it is called."""

    def __init__(self, rows: Sequence[table.Row], **settings: Any) -> None:
        super().__init__(**settings)
        self.rows = {row.name: row for row in rows}

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        row = self.rows.get(cmd_name)
        if row is None:
            return None
        command = getattr(importlib.import_module(row.module), row.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{row.module}.{row.attribute} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands by what they are for, without importing one."""
        del ctx
        for group in dict.fromkeys(row.group for row in self.rows.values()):
            rows = [(row.name, row.help) for row in self.rows.values() if row.group == group]
            with formatter.section(group):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        if self.epilog:
            formatter.write_paragraph()
            for line in self.epilog.splitlines():
                formatter.write(f"{line}\n")


def root() -> LazyGroup:
    return LazyGroup(
        table.ROOT,
        name="fabric",
        help="Deploy serverless functions the way a build system builds: one config becomes a "
        "graph of tasks, and only what changed runs.",
        epilog=table.ROOT_EPILOG,
        params=[version_option()],
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def version_option() -> click.Option:
    return click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version (with --json: as JSON).",
    )


def _print_version(ctx: click.Context, _option: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if not value:
        return
    click.echo(version_text(as_json="--json" in sys.argv))
    ctx.exit()


def version_text(*, as_json: bool) -> str:
    if not as_json:
        return f"fabric {VERSION}"
    import json

    python = ".".join(str(part) for part in sys.version_info[:3])
    result = {"version": VERSION, "python": python}
    document = {"ok": True, "command": "version", "formatVersion": 1, "result": result}
    return json.dumps(document)


def run(argv: list[str]) -> int:
    """Run one command line and give its exit code."""
    if argv[:1] == ["--json"]:
        argv = [*argv[1:], "--json"]
    try:
        return _invoked(argv)
    except FabricError as error:
        return explain_failure(argv, error)
    except click.UsageError as error:
        return _misused(argv, error)
    except (KeyboardInterrupt, click.Abort):
        problem = Problem("run/interrupted", "interrupted", hint="run it again to go on")
        return explain_failure(argv, FabricError(problem))
    except BrokenPipeError:
        sys.stderr.close()
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001: the outermost boundary: no traceback for users
        return explain_failure(argv, _internal(error))


def _invoked(argv: list[str]) -> int:
    if argv[:1] == ["--version"]:
        click.echo(version_text(as_json="--json" in argv))
        return ExitCode.OK
    result = root().main(args=argv, prog_name="fabric", standalone_mode=False)
    return result if isinstance(result, int) else ExitCode.OK


def _usage(error: click.UsageError) -> FabricError:
    message = error.format_message().rstrip(".")
    hint = f"see `{_path(error)} --help`"
    if not isinstance(error, click.NoSuchOption):
        return FabricError(Problem("usage/bad-value", message[:1].lower() + message[1:], hint=hint))
    guess = f"did you mean `{error.possibilities[0]}`?" if error.possibilities else hint
    message = f"`{_path(error)}` has no option `{error.option_name}`"
    return FabricError(Problem("usage/unknown-option", message, hint=guess))


def _path(error: click.UsageError) -> str:
    return error.ctx.command_path if error.ctx else "fabric"


def _misused(argv: list[str], error: click.UsageError) -> int:
    """A slip is a failure like others; after an empty line people get the help."""
    if not isinstance(error, click.exceptions.NoArgsIsHelpError):
        return explain_failure(argv, _usage(error))
    if "--json" not in argv:
        say(error.format_message())
        return ExitCode.USAGE
    hint = f"`{_path(error)} --help` lists the commands"
    problem = Problem("usage/no-command", "no command was given", hint=hint)
    return explain_failure(argv, FabricError(problem))


def _internal(error: Exception) -> FabricError:
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    return FabricError(
        Problem(
            "internal/error",
            f"{type(error).__name__}: {error}",
            hint=f"a bug in fabric, at {place.name}:{place.lineno}; please report it",
        )
    )
