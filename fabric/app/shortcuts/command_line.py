"""A repeatable command line and the output format of its answer."""

from collections.abc import Callable

from msgspec import Struct

from fabric.engine.shortcuts.stored_answer import StoredAnswer
from fabric.model.report import Report


class CommandLine(Struct, frozen=True):
    """A command line in its folder, and how a report of it looks on this screen."""

    argv: tuple[str, ...]
    cwd: str
    shown: Callable[[Report], StoredAnswer]
