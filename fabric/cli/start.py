"""What a command line starts with: its words and its surroundings, read once or handed in."""

import sys

import click
from msgspec import Struct

from fabric.app.settings import Settings, read_settings


class CommandStart(Struct, frozen=True):
    """`argv` are the words as they were typed, also those that stand elsewhere by now."""

    argv: tuple[str, ...]
    settings: Settings


def command_start() -> CommandStart:
    """As whoever runs the command line handed it in; else as this process has it."""
    context = click.get_current_context(silent=True)
    given = context.find_object(CommandStart) if context else None
    return given or CommandStart(tuple(sys.argv[1:]), read_settings())
