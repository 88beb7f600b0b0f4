"""A daemon in a process that is its own: it holds the workspace for as long as it lives."""

from pathlib import Path

from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.daemon.process.order import ServeOrder
from fabric.daemon.process.running import RunningDaemon, hold_life_lock, tell
from fabric.daemon.process.serving import ServeTools, serve
from fabric.manifest import VERSION
from fabric.system.clock import stamp
from fabric.system.process.process_identity import identify_this_process


def run_daemon(order: ServeOrder, settings: Settings, tools: ServeTools) -> None:
    folder = Path(order.folder)
    with hold_life_lock(folder) as lock:

        def ready(port: int) -> None:
            now = stamp(settings.clock)
            tell(
                lock,
                folder,
                RunningDaemon(identify_this_process(), order.door.address, port, VERSION, now),
            )
            tools.ready(port)

        serve(order, settings, replace(tools, ready=ready))
