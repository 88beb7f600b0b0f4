"""How much memory the daemon takes: idle, after many deploys, over many requests."""

from collections.abc import Sequence

from benchmarks.daemons import SMALL, calling, daemon_in, edit, empty_folder, small_project
from benchmarks.row import Options, Result, Row
from benchmarks.wrk import WrkAsk, require_wrk

_CONNECTIONS, _SECONDS = 16, 5


def _deploys(options: Options) -> Sequence[Result]:
    count = options.size(1000)
    with daemon_in(small_project(empty_folder())) as daemon, calling(daemon) as caller:
        idle = daemon.memory_mb
        for number in range(count):
            edit(daemon.folder, "api", f"deploy-{number}")
            caller.post("/deploy")
        after = daemon.memory_mb
    return [
        Result("memory of an idle daemon (MB)", f"{idle:.1f} MB", "-", idle, 45),
        Result(f"... after {count:,} deploys of a small project (MB)", _mb(after), "-", after, 130),
    ]


def _requests(options: Options) -> Sequence[Result]:
    require_wrk()
    early, late = options.size(10_000), options.size(100_000)
    with daemon_in(small_project(empty_folder())) as daemon:
        asked, sizes = WrkAsk(daemon.port, "/validate", SMALL), []
        count = 0
        for wanted in (early, late):
            while count < wanted:
                count += asked.load(_CONNECTIONS, _SECONDS).count
            sizes.append(daemon.memory_mb)
    before, after = sizes
    claim = f"memory after {late:,} requests / after {early:,}"
    return [Result(claim, _mb(after), _mb(before), after / before, 1.05)]


def _mb(size: float) -> str:
    return f"{size:.1f} MB"


ROWS = (
    Row("daemon-memory", "memory of the daemon, idle and after deploys", _deploys),
    Row("daemon-flat", "memory of the daemon over many requests", _requests),
)
