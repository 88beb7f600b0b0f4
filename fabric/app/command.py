"""One command under way: its request, and the caches that it may use.

Caches are opened first and closed last. Only compiling and running know them.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.caching.shared_cache import NO_ACCESS, SharedAccess, open_shared_cache
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.system.clock import read_file_time_ns

if TYPE_CHECKING:
    from fabric.engine.shortcuts.stored_answer import StoredAnswer
    from fabric.model.report import Report


class CommandLine(Struct, frozen=True):
    """A command line in its folder, and how a report of it looks on this screen."""

    argv: tuple[str, ...]
    cwd: str
    shown: "Callable[[Report], StoredAnswer]"


class Caches(Struct, frozen=True, kw_only=True):
    """What earlier runs and other machines know."""

    # The start of the command on the clock of the file system: files changed later are suspect.
    started_ns: int
    shared: SharedAccess = NO_ACCESS
    # Stores the answer to an identical command; None if the answer cannot be repeated.
    command_line: CommandLine | None = None
    # On a full disk, nothing is cached.
    is_stored: bool = True


class Command(Struct, frozen=True):
    """A request with its settings and caches."""

    request: Request
    settings: Settings
    caches: Caches


def start_command(
    request: Request, settings: Settings, command_line: CommandLine | None = None
) -> Command:
    """Start a command that uses the caches of this machine only."""
    started_ns = read_file_time_ns(settings.cwd)
    return Command(request, settings, Caches(started_ns=started_ns, command_line=command_line))


@contextlib.contextmanager
def open_command(
    request: Request, settings: Settings, command_line: CommandLine | None = None
) -> Iterator[Command]:
    """Start a command that also uses the shared cache."""
    with add_shared_cache(start_command(request, settings, command_line)) as command:
        yield command


@contextlib.contextmanager
def add_shared_cache(command: Command) -> Iterator[Command]:
    """Open the shared cache. It is queried in the background while configs are read."""
    with contextlib.closing(open_shared_cache(command.request, command.settings)) as shared:
        yield replace(command, caches=replace(command.caches, shared=shared))
