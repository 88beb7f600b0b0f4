"""A warm child process: it loads one handler, then answers one call after the other."""

import os
import signal
import time
from collections.abc import Callable
from enum import StrEnum

from msgspec.structs import replace

from fabric.runtimes.calls.call_end import (
    AnswerLine,
    CallEnd,
    CallFailure,
    Failing,
)
from fabric.runtimes.calls.channel import Channel, ChannelListener, PipeChannel
from fabric.runtimes.calls.child_process import (
    ChildStart,
    get_output_fd,
    read_memory_use,
    read_some,
    watch_end,
)
from fabric.system.event_loop import Deadline, EventLoop
from fabric.system.process.child_group import forget, send_signal

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


def _open_channel(loop: EventLoop, start: ChildStart, listener: ChannelListener) -> Channel:
    if not start.is_bootstrap:
        return PipeChannel(loop, start, listener)
    from fabric.runtimes.calls.runtime_api import RuntimeApi  # with a server, which few need

    return RuntimeApi(loop, start, listener)


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
        self._output = ChildOutput()
        self._seconds = _LOAD_SECONDS
        self._deadline = Deadline(loop, self._run_out)
        self._next_look = Deadline(loop, self._look_at_memory)
        self._compute_timeout = Deadline(loop, self.kill)
        self._channel = _open_channel(loop, start, self)
        self._process = self._channel.process
        self._heard = get_output_fd(self._process)
        loop.watch(self._heard, self._take_output)
        self._pid_fd = watch_end(loop, self._process, self._has_ended)
        self._begin(_LOAD_SECONDS)
        self._channel.send_function(start.said)

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, event: bytes) -> None:
        """Start a call, one at a time. `event` is JSON text in one line."""
        self._number += 1
        self.life = ChildLife.BUSY
        if self._start.freezes:
            send_signal(self._process, signal.SIGCONT)
        self._begin(self._start.seconds)
        self._channel.send_call(self._number, event)

    def end(self) -> None:
        """End the child without notice, as hosts do: without a call it has nothing to finish."""
        self.life = ChildLife.ENDED
        self.kill()

    def kill(self) -> None:
        send_signal(self._process, signal.SIGKILL)

    def _begin(self, seconds: float) -> None:
        self._since = time.monotonic()
        self._seconds = seconds
        self._deadline.put_off(seconds)
        if self._start.memory:
            self._next_look.put_off(_LOOK)

    def handle_answer(self, answer: AnswerLine | None) -> None:
        if (
            answer is None
            or answer.id != self._number
            or self.life not in (ChildLife.LOADING, ChildLife.BUSY)
        ):
            self._give_up(
                Failing.NO_ANSWER, "returned no response (it wrote to the response channel)"
            )
            return
        self._take_output()
        self._version = self._version or answer.version
        end = answer.end(self._output.take())
        memory = end.memory or read_memory_use(self.pid)
        self._settle(replace(end, version=self._version, memory=memory), ends=answer.ends)

    def handle_failure(self, failure: CallFailure) -> None:
        self._give_up(failure.why, failure.message)

    def handle_wait(self) -> None:
        if self._start.freezes and self.life is ChildLife.IDLE:
            send_signal(self._process, signal.SIGSTOP)

    def _settle(self, end: CallEnd, *, ends: bool) -> None:
        if self.life is ChildLife.ENDED:
            return
        self._deadline.call_off()
        self._next_look.call_off()
        self.life = ChildLife.ENDED if ends else ChildLife.IDLE
        self.idle_since = time.monotonic()
        if ends:
            self._channel.end_calls()
            self._compute_timeout.put_off(_PATIENCE)
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
        what = self._channel.loading if self.life is ChildLife.LOADING else "end"
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
        self._channel.read_rest()
        why = f"exit code {code}" if code >= 0 else f"terminated by signal {-code}"
        self._give_up(Failing.NO_ANSWER, self._channel.describe_end(why))
        self._leave()
        self._gone(self)

    @property
    def _waits(self) -> tuple[Deadline, ...]:
        return self._deadline, self._next_look, self._compute_timeout

    def _leave(self) -> None:
        """Also end processes that the child has started and left running."""
        self.kill()
        forget(self._process)
        for one in self._waits:
            one.close()
        for fd in (self._heard, self._pid_fd):
            self._loop.unwatch(fd)
        self._channel.close()
        if self._pid_fd >= 0:
            os.close(self._pid_fd)
        if self._process.stdout is not None:
            self._process.stdout.close()


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
