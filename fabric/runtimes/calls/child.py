"""A warm child process: it loads one handler, then answers one call after the other."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from enum import StrEnum

from msgspec.structs import replace

from fabric.runtimes.calls.call_end import (
    LARGEST_ANSWER,
    CallEnd,
    CallFailure,
    Failing,
    build_size_failure,
    parse_answer_line,
)
from fabric.runtimes.calls.child_process import (
    CHUNK,
    ChildStart,
    get_output_fd,
    read_memory_use,
    read_some,
    start_process,
    watch_end,
)
from fabric.system.child_group import forget, send_signal
from fabric.system.event_loop import WRITE, Deadline, EventLoop

# A module that takes longer is stuck.
_LOAD_SECONDS = 30.0
_LOOK = 0.1
# What ends by itself has so long.
_PATIENCE = 1.0
_MEGABYTE = 1024 * 1024
_KEPT = 1_000_000
_MOST = 10_000_000


class ChildLife(StrEnum):
    LOADING = "loading"
    IDLE = "idle"
    BUSY = "busy"
    ENDED = "ended"


Settled = Callable[["HandlerChild", CallEnd], None]


class HandlerChild:
    """A child process, used only by the thread of its event loop.

    `settled` is called after the module has loaded or failed to load, and after each call. `gone`
    is called after the process has ended.
    """

    def __init__(
        self,
        loop: EventLoop,
        start: ChildStart,
        settled: Settled,
        gone: Callable[["HandlerChild"], None],
    ) -> None:
        self._loop, self._start = loop, start
        self._settled, self._gone = settled, gone
        self.life = ChildLife.LOADING
        self.idle_since = 0.0
        self.last_words: CallEnd | None = None
        self._version = ""
        self._number = 0
        self._since = time.monotonic()
        self._unsent = memoryview(b"")
        self._is_sending = False
        self._line = bytearray()
        self._output = ChildOutput()
        self._seconds = _LOAD_SECONDS
        self._deadline = Deadline(loop, self._run_out)
        self._next_look = Deadline(loop, self._look_at_memory)
        self._silence = Deadline(loop, self._is_silent)
        self._compute_timeout = Deadline(loop, self.kill)
        self._process, self._request, self._answer = start_process(start)
        self._heard = get_output_fd(self._process)
        loop.watch(self._answer, self._take_answer)
        loop.watch(self._heard, self._take_output)
        self._pid_fd = watch_end(loop, self._process, self._has_ended)
        self._begin(start.said, _LOAD_SECONDS)

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, event: bytes) -> None:
        """Start a call, one at a time. `event` is JSON text in one line."""
        self._number += 1
        self.life = ChildLife.BUSY
        if self._start.freezes:
            send_signal(self._process, signal.SIGCONT)
        self._begin(b'{"id":%d,"event":%b}\n' % (self._number, event), self._start.seconds)

    def end(self) -> None:
        """End the child without notice, as hosts do: without a call it has nothing to finish."""
        self.life = ChildLife.ENDED
        self.kill()

    def kill(self) -> None:
        send_signal(self._process, signal.SIGKILL)

    def _begin(self, line: bytes, seconds: float) -> None:
        self._since = time.monotonic()
        self._seconds = seconds
        self._deadline.put_off(seconds)
        if self._start.memory:
            self._next_look.put_off(_LOOK)
        self._unsent = memoryview(line)
        self._send()

    def _send(self) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self._request, self._unsent) :]
        if self._unsent and self.life is not ChildLife.ENDED:
            self._loop.watch(self._request, self._send, WRITE)
        elif self._is_sending:
            self._loop.unwatch(self._request)
        self._is_sending = bool(self._unsent)

    def _take_answer(self) -> None:
        chunk = read_some(self._answer)
        if chunk is None:
            return
        if not chunk:
            self._loop.unwatch(self._answer)
            # Mostly its process has ended, and that says more.
            self._silence.put_off(_PATIENCE)
            return
        self._line += chunk
        if chunk.endswith(b"\n"):
            line, self._line = bytes(self._line), bytearray()
            self._handle_line(line)
        elif len(self._line) > LARGEST_ANSWER + CHUNK:
            failure = build_size_failure(len(self._line))
            self._give_up(failure.why, failure.message)

    def _handle_line(self, line: bytes) -> None:
        try:
            said = parse_answer_line(line)
        except RecursionError:
            self._give_up(Failing.TOO_LARGE, "returned a value that is nested too deeply")
            return
        if (
            said is None
            or said.id != self._number
            or self.life not in (ChildLife.LOADING, ChildLife.BUSY)
        ):
            self._give_up(
                Failing.NO_ANSWER, "returned no response (it wrote to the response channel)"
            )
            return
        self._take_output()
        self._version = self._version or said.version
        end = said.end(self._output.take())
        self._settle(replace(end, version=self._version), ends=said.ends)

    def _is_silent(self) -> None:
        self._give_up(Failing.NO_ANSWER, "returned no response (it closed the response channel)")

    def _settle(self, end: CallEnd, *, ends: bool) -> None:
        if self.life is ChildLife.ENDED:
            return
        self._deadline.call_off()
        self._next_look.call_off()
        self.life = ChildLife.ENDED if ends else ChildLife.IDLE
        self.idle_since = time.monotonic()
        if ends:
            self._close_request()
            self._compute_timeout.put_off(_PATIENCE)
        elif self._start.freezes:
            send_signal(self._process, signal.SIGSTOP)
        self._settled(self, end)

    def _give_up(self, why: Failing, message: str) -> None:
        """Fail the current call or load, and expect nothing more from this child."""
        was_asked = self.life in (ChildLife.LOADING, ChildLife.BUSY)
        was_idle = self.life is ChildLife.IDLE
        self.kill()
        self._take_output()
        ms = round((time.monotonic() - self._since) * 1000)
        logs = self._output.take()
        end = CallEnd(b"null", logs, ms, failure=CallFailure(why, message))
        if was_asked:
            self._settle(end, ends=True)
        if was_idle:
            self.last_words = end
        self.life = ChildLife.ENDED

    def _take_output(self) -> None:
        while chunk := read_some(self._heard):
            self._output.add(chunk)
            if self._output.is_endless and self.life is not ChildLife.ENDED:
                self._output.leave_it()
                self._give_up(Failing.TOO_MUCH_OUTPUT, "wrote too much output")
        if chunk == b"":
            self._loop.unwatch(self._heard)

    def _run_out(self) -> None:
        what = "load" if self.life is ChildLife.LOADING else "end"
        self._give_up(Failing.TIMED_OUT, f"timeout: did not {what} within {self._seconds:g} s")

    def _look_at_memory(self) -> None:
        used, most = read_memory_use(self.pid), self._start.memory
        if used > 2 * most * _MEGABYTE:
            message = f"used {used // _MEGABYTE} MB, twice its `memory` of {most} MB"
            self._give_up(Failing.OUT_OF_MEMORY, message)
        else:
            self._next_look.put_off(_LOOK)

    def _has_ended(self) -> None:
        code = self._process.poll()
        if code is None:
            return
        self._take_answer()
        why = f"exit code {code}" if code >= 0 else f"terminated by signal {-code}"
        self._give_up(Failing.NO_ANSWER, f"returned no response ({why})")
        self._leave()
        self._gone(self)

    @property
    def _waits(self) -> tuple[Deadline, ...]:
        return self._deadline, self._next_look, self._silence, self._compute_timeout

    def _leave(self) -> None:
        """Also end processes that the child has started and left running."""
        self.kill()
        forget(self._process)
        for one in self._waits:
            one.close()
        for fd in (self._answer, self._heard, self._pid_fd):
            self._loop.unwatch(fd)
        self._close_request()
        os.close(self._answer)
        if self._pid_fd >= 0:
            os.close(self._pid_fd)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _close_request(self) -> None:
        if self._request >= 0:
            self._loop.unwatch(self._request)
            os.close(self._request)
            self._request = -1


class ChildOutput:
    """The end of the output, and its total size."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._count = 0
        self._is_left = False

    def add(self, chunk: bytes) -> None:
        self._count += len(chunk)
        self._bytes += chunk
        if len(self._bytes) > 2 * _KEPT:
            del self._bytes[:-_KEPT]

    @property
    def is_endless(self) -> bool:
        return self._count > _MOST and not self._is_left

    def leave_it(self) -> None:
        self._is_left = True

    def take(self) -> bytes:
        """Return the output. Truncated output starts at a whole line, because a partial secret
        would not be redacted."""
        text, was_cut = bytes(self._bytes[-_KEPT:]), self._count > len(self._bytes)
        self._bytes, self._count = bytearray(), 0
        return text.partition(b"\n")[2] if was_cut or len(text) == _KEPT else text
