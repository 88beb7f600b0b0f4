"""Dask's own client, as far as builds need it: the one place on this side that imports it."""

import contextlib
import itertools
import logging
import socket
import threading
from asyncio import CancelledError

import msgspec
from distributed import Client, Future, Security
from distributed.scheduler import KilledWorker

from fabric.app.dask.worker import about_worker, build_on_worker
from fabric.engine.dask.contract import GaveUpError, GoneError
from fabric.engine.dask.messages import SameSide
from fabric.engine.dask.worker_side import unlike
from fabric.model.executor import DaskAddress
from fabric.model.problems import FabricError, Problem, StoppedError
from fabric.system.child_group import child_group

_CONNECT_SECONDS = 10
_LOOK_SECONDS = 20
# So often in a row there may be nobody.
_LOOKS_WITHOUT = 3
_NAMED = 3


class DaskWorkers:
    """Thread-safe. Closing it cancels what is under way; its workers end the children of that."""

    def __init__(self, client: Client, address: DaskAddress, run: str) -> None:
        self._client = client
        self._address = address
        self._run = run
        self._numbers = itertools.count()
        self._is_closed = False
        self._under_way: set[Future[bytes]] = set()
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        return f"the cluster at {self._address}"

    def ask(self, question: bytes) -> bytes:
        future, is_cut = self._submitted(question), threading.Event()

        def cut() -> None:
            is_cut.set()
            future.cancel()

        try:
            with child_group().ended_with(cut):
                answer = self._waited_for(future)
        except KilledWorker as error:
            raise GaveUpError("workers ended while they built it, one after the other") from error
        except GoneError:
            raise
        except (Exception, CancelledError) as error:
            if is_cut.is_set():
                raise StoppedError(Problem("run/cancelled", "the run was cut off")) from error
            raise GoneError(type(error).__name__) from error
        finally:
            with self._lock:
                self._under_way.discard(future)
        assert isinstance(answer, bytes)  # noqa: S101 - it is what our own function gives
        return answer

    def _waited_for(self, future: Future[bytes]) -> object:
        """Workers come back, or others come: not for ever, though."""
        without = 0
        while without < _LOOKS_WITHOUT:
            try:
                return future.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                without = 0 if self._client.ncores() else without + 1
        future.cancel()
        raise GoneError("it has no worker any more")

    def _submitted(self, question: bytes) -> Future[bytes]:
        key = f"fabric-build-{self._run}-{next(self._numbers)}"
        with self._lock:
            if self._is_closed:
                raise GoneError("the run is over")
            try:
                future = self._client.submit(build_on_worker, question, key, key=key, pure=False)
            except Exception as error:
                raise GoneError(type(error).__name__) from error
            self._under_way.add(future)
            return future

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            left = list(self._under_way)
        with contextlib.suppress(Exception):
            if left:
                self._client.cancel(left)
            self._client.close(timeout=2)


def connect(address: DaskAddress, side: SameSide, run: str) -> DaskWorkers:
    """Raises FabricError where nobody is there, or workers are not like this machine."""
    security = Security()
    is_sealed = security.get_connection_args("client").get("ssl_context") is not None
    if not is_sealed and not address.is_this_machine:
        raise FabricError(_unsealed(address))
    scheme = "tls" if is_sealed else "tcp"
    # What Dask writes to its log is told here, in plain words.
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    client = _client(f"{scheme}://{address}", security, address)
    try:
        _refuse_unlike(client, address, side)
    except BaseException:
        client.close(timeout=2)
        raise
    return DaskWorkers(client, address, run)


def _client(url: str, security: Security, address: DaskAddress) -> Client:
    try:
        # Dask itself goes on asking where nobody listens.
        socket.create_connection((address.host.strip("[]"), address.port), _CONNECT_SECONDS).close()
        return Client(url, security=security, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        hint = (
            "is `dask scheduler` running there, and is it reached with TLS just where it uses it?"
        )
        problem = Problem("executor/unreachable", f"no Dask scheduler answers at {address}", hint)
        raise FabricError(problem) from error


def _refuse_unlike(client: Client, address: DaskAddress, side: SameSide) -> None:
    found = client.run(about_worker, on_error="return")
    if not found:
        hint = "start one with `dask worker`; an adaptive cluster needs a minimum of one"
        message = f"the cluster at {address} has no worker"
        raise FabricError(Problem("executor/no-workers", message, hint))
    told = [
        f"{worker} {why}" for worker, said in sorted(found.items()) if (why := _why(said, side))
    ]
    if told:
        more = f", and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
        message = f"{'; '.join(told[:_NAMED])}{more}"
        hint = (
            "workers need the same fabric-deploy[dask,cloud] and Python, and the same shared cache"
        )
        raise FabricError(Problem("executor/other-worker", message, hint))


def _why(said: object, side: SameSide) -> str:
    if not isinstance(said, bytes):
        return "cannot load fabric: is it installed there?"
    try:
        return unlike(msgspec.msgpack.decode(said, type=SameSide), side)
    except msgspec.DecodeError:
        return "has another fabric"


def _unsealed(address: DaskAddress) -> Problem:
    return Problem(
        "usage/unsealed-executor",
        f"{address} is another machine, and nothing says how to reach it by TLS",
        hint="set Dask's own distributed.comm.tls, as DASK_DISTRIBUTED__COMM__TLS__CA_FILE does: "
        "without it anybody who reaches the scheduler runs code on the workers",
    )
