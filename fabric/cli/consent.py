"""Confirm irreversible actions: prompt at a terminal. Scripts get no prompt."""

import sys
from collections.abc import Callable

import click

from fabric.app.settings import Settings
from fabric.cli.screen import Screen, escape_for_terminal


def build_confirmation(screen: Screen, settings: Settings, *, yes: bool) -> Callable[[str], bool]:
    """Build the confirmation prompt. With `--yes`, or without a terminal, the answer is yes."""

    def prompt_user(question: str) -> bool:
        if yes or screen.as_json or not (sys.stdin.isatty() and settings.stderr_is_terminal):
            return True
        return click.confirm(escape_for_terminal(question), default=False, err=True)

    return prompt_user


def build_word_prompt(screen: Screen, settings: Settings) -> Callable[[str], str]:
    """Build the prompt for a word to type. No option replaces it, so scripts are refused."""

    def ask(question: str) -> str:
        if screen.as_json or not (sys.stdin.isatty() and settings.stderr_is_terminal):
            return ""
        said: str = click.prompt(
            escape_for_terminal(question), default="", show_default=False, err=True
        )
        return said.strip()

    return ask
