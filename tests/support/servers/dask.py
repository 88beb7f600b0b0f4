"""A Dask cluster on this machine: a scheduler and workers as processes, each worker in an empty
folder of its own, with nothing of a project but what is sent there."""

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.bundler_cache import TOOLCHAIN
from tests.support.project import REPO
from tests.support.servers.process import Command, free_port, listens, running

_DASK = (sys.executable, "-m", "dask")
_HERE = ("--host", "127.0.0.1", "--no-dashboard")


@dataclass
class DaskCluster:
    """`env` is what workers have of the shared cache; `close` ends them alone."""

    port: int
    folder: Path
    env: Mapping[str, str]
    security: tuple[str, ...] = ()
    # By default, another process starts a worker that is lost again.
    nanny: bool = True
    end_scheduler: Callable[[], None] = lambda: None
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _workers: int = 0

    @property
    def executor(self) -> str:
        return f"dask://127.0.0.1:{self.port}"

    def add_worker(self, env: Mapping[str, str] | None = None, threads: int = 1) -> Path:
        """Its folder; it is there once the scheduler knows it."""
        self._workers += 1
        folder = self.folder / f"worker-{self._workers}"
        folder.mkdir()
        port, scheme = free_port(), "tls" if self.security else "tcp"
        command = Command(
            [
                *_DASK,
                *("worker", f"{scheme}://127.0.0.1:{self.port}"),
                *("--nworkers", "1", "--nthreads", str(threads), "--worker-port", str(port)),
                *("--local-directory", str(folder)),
                *_HERE,
                *self.security,
                *(() if self.nanny else ("--no-nanny",)),
            ],
            folder,
            _environment(folder, self.env if env is None else env),
            # It would give its tasks away first, for seconds.
            end=signal.SIGKILL,
        )
        log = folder / "log"
        self._stack.enter_context(
            running(command, lambda: log.exists() and b"Registered to" in log.read_bytes())
        )
        return folder

    def close(self) -> None:
        self._stack.close()


def _environment(folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    return {
        "PYTHONPATH": str(REPO),
        "HOME": str(folder),
        "FABRIC_TOOLCHAIN_DIR": str(TOOLCHAIN),
        **env,
    }


@contextlib.contextmanager
def dask_cluster(
    folder: Path,
    env: Mapping[str, str],
    workers: int = 2,
    *,
    security: tuple[str, ...] = (),
    nanny: bool = True,
) -> Iterator[DaskCluster]:
    port = free_port()
    scheduler = folder / "scheduler"
    scheduler.mkdir(parents=True)
    command = Command(
        [*_DASK, "scheduler", "--port", str(port), *_HERE, *security],
        scheduler,
        _environment(scheduler, {}),
        end=signal.SIGKILL,
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(command, lambda: listens(port)))
        made = DaskCluster(port, folder, env, security, nanny=nanny, end_scheduler=stack.close)
        cluster = stack.enter_context(contextlib.closing(made))
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
