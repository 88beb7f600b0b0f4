"""The background daemon: a separate process that receives its order from the starter.

The order comes on standard input, and the status goes to the given descriptor, so that neither is
in the process list.
"""

import os
import sys
import traceback
from pathlib import Path

import msgspec

from fabric.app.installed_providers import add_installed_providers
from fabric.app.settings import read_settings
from fabric.daemon.composition import build_application
from fabric.daemon.process.foreground import run_daemon
from fabric.daemon.process.order import ServeOrder
from fabric.daemon.process.running import AlreadyRunningError, StartNote
from fabric.daemon.process.serving import ServeTools
from fabric.daemon.process.signal_queue import listen_for_signals
from fabric.model.problems import FabricError
from fabric.system.files.disk import write_all
from fabric.system.files.rotating_log import RotatingLog


class _Notes:
    """Sends the first status to the starter. Later ones are dropped."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def hand_over(self, note: StartNote) -> None:
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        try:
            write_all(fd, msgspec.json.encode(note))
        except BrokenPipeError:
            pass  # who started us has gone: the daemon stays
        finally:
            os.close(fd)


def main() -> int:
    notes = _Notes(int(sys.argv[1]))
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=ServeOrder)
    _close_stdin()
    try:
        _run(order, notes)
    except AlreadyRunningError as error:
        notes.hand_over(StartNote(is_other=True, problems=error.problems))
        return 1
    except FabricError as error:
        notes.hand_over(StartNote(problems=error.problems))
        sys.stderr.write("".join(f"{one.code}: {one.message}\n" for one in error.problems))
        return 1
    return 0


def _run(order: ServeOrder, notes: _Notes) -> None:
    log = RotatingLog(Path(order.log), has_streams=True)
    with listen_for_signals() as ear:
        tools = ServeTools(
            build_application,
            ear.wait_for_signal,
            log.write,
            lambda port: notes.hand_over(StartNote(port, os.getpid())),
        )
        add_installed_providers()
        run_daemon(order, read_settings(), tools)


def _close_stdin() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)


def _end() -> None:
    try:
        code = main()
    except BaseException:  # noqa: BLE001 - the last line of the log says what ended it
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    # Threads that still wait for somebody keep nobody.
    os._exit(code)


if __name__ == "__main__":
    _end()
