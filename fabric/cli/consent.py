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
