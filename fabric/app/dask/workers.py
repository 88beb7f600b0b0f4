"""Dask's own client, as far as builds need it: the one place on this side that imports it."""

import contextlib
import itertools
import logging
import socket
import threading
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from concurrent.futures import Future as PlainFuture
from concurrent.futures import wait
from functools import partial
from typing import TypeVar

import msgspec
from distributed import Client, Future, Security
from distributed.scheduler import KilledWorker

from fabric.app.dask.worker import build_on_worker, describe_worker
from fabric.engine.dask.messages import GaveUpError, GoneError, SameSide
from fabric.engine.dask.worker_side import describe_difference
from fabric.engine.shared.background_uploads import start_background_thread
from fabric.model.distribution import Extra, format_requirement
from fabric.model.problems import FabricError, Problem, StoppedError
from fabric.model.runs.executor import DaskAddress
from fabric.system.process.child_group import get_child_group

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 8
# Each has a level of its own.
_LOGS = ("distributed", "distributed.client", "tornado.application")
T = TypeVar("T")
_LOOK_SECONDS = 20
# So often in a row there may be nobody.
_LOOKS_WITHOUT = 3
_NAMED = 3
# A result is bytes. Dask's other forms load pickles, and a worker would run code here with one.
_SERIALIZERS = ["msgpack"]


class DaskWorkers:
    """The workers of a cluster. Thread-safe.

    Closing it cancels running tasks; the workers end their child processes.
    """

    def __init__(self, client: Client, address: DaskAddress, run: str, *silent: str) -> None:
        self._client = client
        self._address = address
        self._run = run
        self.silent = silent
        self.threads = sum(client.ncores().values())
        self._numbers = itertools.count()
        self._is_closed = False
        self._left_out = set(silent)
        self._under_way: set[Future[bytes]] = set()
        self._lock = threading.Lock()
        self._alone = threading.Lock()

    @property
    def place(self) -> str:
        return f"the cluster at {self._address}"

    def leave_out(self, worker: str) -> None:
        with self._lock:
            self._left_out.add(worker)

    def ask(self, question: bytes) -> bytes:
        try:
            return self._query_worker(question)
        except KilledWorker:
            pass
        # Dask blames whatever a worker had when it ended: of several that were there together,
        # one by one shows which it was.
        with self._alone:
            try:
                return self._query_worker(question)
            except KilledWorker as error:
                message = "several workers stopped during the build"
                raise GaveUpError(message) from error

    def _query_worker(self, question: bytes) -> bytes:
        """Send a question to a worker. Raises KilledWorker as Dask does."""
        future, is_cut = self._submit_question(question), threading.Event()

        def cut() -> None:
            is_cut.set()
            future.cancel()

        try:
            with get_child_group().end_with(cut):
                answer = self._wait_for_result(future)
        except (KilledWorker, GoneError):
            raise
        except (Exception, CancelledError) as error:
            if is_cut.is_set():
                raise StoppedError(Problem("run/cancelled", "the run was cancelled")) from error
            raise GoneError("can no longer be reached") from error
        finally:
            with self._lock:
                self._under_way.discard(future)
        assert isinstance(answer, bytes)  # noqa: S101 - it is what our own function gives
        return answer

    def _wait_for_result(self, future: Future[bytes]) -> object:
        """Wait for a result, also while workers restart, but with a time limit."""
        without = 0
        while without < _LOOKS_WITHOUT:
            try:
                return future.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                without = 0 if set(self._client.ncores()) - self._left_out else without + 1
        future.cancel()
        raise GoneError("no longer has workers")

    def _submit_question(self, question: bytes) -> Future[bytes]:
        key = f"fabric-build-{self._run}-{next(self._numbers)}"
        with self._lock:
            if self._is_closed:
                raise GoneError("is disconnected")
            try:
                future = self._client.submit(
                    build_on_worker,
                    question,
                    key,
                    key=key,
                    pure=False,
                    workers=self._select_workers(),
                )
            except Exception as error:
                raise GoneError("can no longer be reached") from error
            self._under_way.add(future)
            return future

    def _select_workers(self) -> list[str] | None:
        """Select the workers, except excluded ones."""
        return sorted(set(self._client.ncores()) - self._left_out) if self._left_out else None

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            left = list(self._under_way)
        with contextlib.suppress(Exception):
            if left:
                self._client.cancel(left)
            self._client.close(timeout=2)


def connect(address: DaskAddress, side: SameSide, run: str) -> DaskWorkers:
    """Connect to the cluster. Raises FabricError without workers, or if they differ from this
    machine."""
    security = Security()
    is_sealed = security.get_connection_args("client").get("ssl_context") is not None
    if not is_sealed and not address.is_this_machine:
        raise FabricError(_no_encryption_problem(address))
    # What Dask writes to its logs is told here, in plain words.
    for name in _LOGS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    url = f"{'tls' if is_sealed else 'tcp'}://{address}"
    client = _run_with_timeout(
        lambda: _connect_client(url, security, address), _CONNECT_SECONDS + 2
    )
    if client is None:
        raise FabricError(_unreachable_problem(address))
    try:
        return DaskWorkers(client, address, run, *_refuse_unlike(client, address, side))
    except BaseException:
        client.close(timeout=2)
        raise


def _connect_client(url: str, security: Security, address: DaskAddress) -> Client:
    try:
        # Dask itself goes on asking where nobody listens.
        socket.create_connection((address.host.strip("[]"), address.port), _CONNECT_SECONDS).close()
        return Client(
            url,
            security=security,
            timeout=_CONNECT_SECONDS,
            set_as_default=False,
            serializers=_SERIALIZERS,
            deserializers=_SERIALIZERS,
        )
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise FabricError(_unreachable_problem(address)) from error


def _refuse_unlike(client: Client, address: DaskAddress, side: SameSide) -> tuple[str, ...]:
    """Reject workers that do not report their versions."""
    workers = sorted(client.ncores())
    if not workers:
        hint = "run: dask worker, or set the minimum of an adaptive cluster to 1"
        message = f"the Dask cluster at {address} has no workers"
        raise FabricError(Problem("executor/no-workers", message, hint))
    found = _run_with_timeout(lambda: _query_all_workers(client, workers), _ANSWER_SECONDS)
    if found is None:
        # One of many keeps them all: each is asked by itself.
        calls = [
            (one, _start_in_thread(partial(_query_all_workers, client, [one]))) for one in workers
        ]
        answers = [_wait_in_time(call, _ANSWER_SECONDS) or {} for _, call in calls]
        found = {worker: said for one in answers for worker, said in one.items()}
    if not found:
        message, hint = f"no worker of the cluster at {address} responds", "restart the workers"
        raise FabricError(Problem("executor/no-workers", message, hint))
    told = [
        f"{worker} {why}"
        for worker, said in sorted(found.items())
        if (why := _explain_mismatch(said, side))
    ]
    if told:
        more = f", and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
        message = f"{'; '.join(told[:_NAMED])}{more}"
        wanted = format_requirement(Extra.DASK, Extra.CLOUD)
        hint = f"run the workers with the same {wanted}, Python and shared cache"
        raise FabricError(Problem("executor/other-worker", message, hint))
    return tuple(one for one in workers if one not in found)


def _query_all_workers(client: Client, workers: list[str]) -> Mapping[str, object]:
    said = client.run(describe_worker, workers=workers, on_error="return")
    return dict(said)


def _run_with_timeout(call: Callable[[], T], seconds: float) -> T | None:
    """Call with a time limit. Returns None on timeout, as Dask's own timeouts do not cover every
    wait."""
    return _wait_in_time(_start_in_thread(call), seconds)


def _start_in_thread(call: Callable[[], T]) -> PlainFuture[T]:
    future: PlainFuture[T] = PlainFuture()

    def carry_out() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            future.set_exception(error)

    start_background_thread(carry_out)
    return future


def _wait_in_time(call: PlainFuture[T], seconds: float) -> T | None:
    return call.result() if call in wait((call,), seconds).done else None


def _explain_mismatch(said: object, side: SameSide) -> str:
    if not isinstance(said, bytes):
        return "cannot import fabric, which must be installed there"
    try:
        return describe_difference(msgspec.msgpack.decode(said, type=SameSide), side)
    except msgspec.DecodeError:
        return "runs a different version of fabric"


def _unreachable_problem(address: DaskAddress) -> Problem:
    hint = "check that `dask scheduler` is running there and has the same TLS setting as fabric"
    return Problem("executor/unreachable", f"no Dask scheduler found at {address}", hint)


def _no_encryption_problem(address: DaskAddress) -> Problem:
    return Problem(
        "usage/unsealed-executor",
        f"refusing to connect to the Dask scheduler at {address} without TLS",
        hint="set `distributed.comm.tls` of Dask, such as DASK_DISTRIBUTED__COMM__TLS__CA_FILE: "
        "without TLS, any client can run code on the workers",
    )
