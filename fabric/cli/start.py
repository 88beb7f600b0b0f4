"""The start of a command line: arguments and environment, read once or given."""

import sys

import click
from msgspec import Struct

from fabric.app.installed_providers import add_installed_providers
from fabric.app.settings import Settings, read_settings


class CommandStart(Struct, frozen=True):
    """`argv` are the typed arguments, including moved ones."""

    argv: tuple[str, ...]
    settings: Settings


def get_command_start() -> CommandStart:
    """Return the given start, otherwise that of this process. Every command begins here."""
    add_installed_providers()
    context = click.get_current_context(silent=True)
    given = context.find_object(CommandStart) if context else None
    return given or CommandStart(tuple(sys.argv[1:]), read_settings())
