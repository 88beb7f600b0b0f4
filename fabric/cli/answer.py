"""A question that no task runs for, to its answer on the screen."""

from collections.abc import Callable

from fabric.app.settings import Settings
from fabric.cli.options import ScreenFlags
from fabric.cli.screen import Screen
from fabric.cli.start import get_command_start
from fabric.model.report import Report


def answer(screen_flags: ScreenFlags, use_case: Callable[[Settings], Report]) -> int:
    settings = get_command_start().settings
    screen = Screen.of(settings, as_json=screen_flags.as_json, colour=screen_flags.color)
    return screen.finish(use_case(settings))
