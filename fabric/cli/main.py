"""The command line: a lazy group of commands, and the one place where failures become exits."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from fabric import interrupt_message, lean_imports
from fabric.cli import commands_table as table
from fabric.cli import version
from fabric.cli.option_groups import Group

if TYPE_CHECKING:
    from fabric.cli.start import CommandStart

_WIDEST = 100
_NARROW = 80


class LazyGroup(Group):
    """A group that knows commands by name and summary, and imports one only when it is called."""

    rows: Mapping[str, table.CommandRow] = MappingProxyType({})

    def listing(self, rows: Sequence[table.CommandRow]) -> "LazyGroup":
        """Return the same group with these commands."""
        self.rows = {row.name: row for row in rows}
        return self

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        row = self.rows.get(cmd_name)
        if row is None:
            return None
        lean_imports.import_msgspec()
        command = getattr(importlib.import_module(row.module), row.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{row.module}.{row.attribute} is not a command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by group without importing them."""
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


def build_root() -> LazyGroup:
    return LazyGroup(
        name="fabric",
        help="Deploy serverless functions like a build system: compile one config to a graph "
        "of tasks and run only the tasks that changed.",
        epilog=table.ROOT_EPILOG,
        params=[build_version_option()],
        no_args_is_help=True,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "terminal_width": read_terminal_width(),
        },
    ).listing(table.ROOT)


def build_version_option() -> click.Option:
    return click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version. With --json, print it as JSON.",
    )


def _print_version(ctx: click.Context, _option: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        click.echo(version.format_version(as_json="--json" in sys.argv))
        ctx.exit()


def read_terminal_width() -> int:
    """Return the terminal width. click would import shutil for it."""
    try:
        return min(os.get_terminal_size().columns, _WIDEST)
    except OSError:
        return _NARROW


def run(argv: list[str], start: "CommandStart | None" = None) -> int:
    """Run one command line and return its exit code. `start` defaults to this process."""
    if argv[:1] == ["--json"]:
        argv = [*argv[1:], "--json"]
    try:
        return _invoke_command(argv, start)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except click.Abort:
        return interrupt_message.print_message(argv)
    except Exception as error:  # noqa: BLE001 - the one place where failures become exits
        from fabric.cli.failures import explain

        return explain(argv, error, start)


def _invoke_command(argv: list[str], start: "CommandStart | None") -> int:
    result = build_root().main(args=argv, prog_name="fabric", standalone_mode=False, obj=start)
    return result if isinstance(result, int) else 0
