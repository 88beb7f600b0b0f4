"""Confirm irreversible actions: prompt at a terminal, otherwise require the option."""

import sys
from collections.abc import Callable

import click

from fabric.app.settings import Settings
from fabric.cli.screen import Screen, safe


def asker(screen: Screen, settings: Settings, *, yes: bool) -> Callable[[str], bool]:
    """Build the confirmation prompt. `--yes` confirms; scripts without it are refused."""

    def agrees(question: str) -> bool:
        if yes or screen.as_json or not (sys.stdin.isatty() and settings.stderr_is_terminal):
            return True
        return click.confirm(safe(question), default=False, err=True)

    return agrees


def word_asker(screen: Screen, settings: Settings) -> Callable[[str], str]:
    """Build the prompt for a word to type. No option replaces it, so scripts are refused."""

    def ask(question: str) -> str:
        if screen.as_json or not (sys.stdin.isatty() and settings.stderr_is_terminal):
            return ""
        said: str = click.prompt(safe(question), default="", show_default=False, err=True)
        return said.strip()

    return ask
