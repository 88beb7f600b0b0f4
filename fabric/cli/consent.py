"""A question before something that cannot be undone: asked on a terminal, else taken as said."""

import sys
from collections.abc import Callable

import click

from fabric.app.settings import Settings
from fabric.cli.screen import Screen, safe


def asker(screen: Screen, settings: Settings, *, yes: bool) -> Callable[[str], bool]:
    """Scripts have nobody to ask; `--yes` has answered already."""

    def agrees(question: str) -> bool:
        if yes or screen.as_json or not (sys.stdin.isatty() and settings.stderr_is_terminal):
            return True
        return click.confirm(safe(question), default=False, err=True)

    return agrees


def word_asker(screen: Screen, settings: Settings) -> Callable[[str], str]:
    """For what has to be typed: no option says it, and scripts say nothing."""

    def ask(question: str) -> str:
        if screen.as_json or not (sys.stdin.isatty() and settings.stderr_is_terminal):
            return ""
        said: str = click.prompt(safe(question), default="", show_default=False, err=True)
        return said.strip()

    return ask
