"""The channel between a child and its caller: two pipes with one line for each message."""

import contextlib
import os
import subprocess
from collections.abc import Sequence
from typing import Protocol

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.calls.call_end import (
    LARGEST_ANSWER,
    AnswerLine,
    CallFailure,
    Failing,
    build_size_failure,
    parse_answer_line,
)
from fabric.runtimes.calls.child_process import CHUNK, ChildStart, read_some, start_process
from fabric.system.event_loop import WRITE, Deadline, EventLoop

# Mostly a child whose channel closes has ended, and that tells more.
_PATIENCE = 1.0


class ChannelListener(Protocol):
    """Receives the messages of a child, in the thread of the event loop."""

    def handle_answer(self, answer: AnswerLine | None) -> None:
        """Handle a message; None if another program wrote it."""

    def handle_failure(self, failure: CallFailure) -> None:
        """Handle the end of the channel: no further message arrives."""

    def handle_wait(self) -> None:
        """Handle that the child waits for its next call."""


class Channel(Protocol):
    """A channel to one child. It starts the child's process."""

    process: subprocess.Popen[bytes]
    # What the child does until its first call, for messages.
    loading: str

    def send_function(self, said: bytes) -> None:
        """Send the description of the function, a line."""

    def send_call(self, number: int, event: bytes) -> None:
        """Send an event, JSON in one line."""

    def read_rest(self) -> None:
        """Read what is left of an ended child."""

    def end_calls(self) -> None:
        """Announce that no further call follows."""

    def describe_end(self, why: str) -> str:
        """Describe that the process ended without a message. Continues the function's name."""

    def close(self) -> None: ...


class PipeChannel:
    """Calls as lines on one pipe, and answers as lines on another one."""

    loading = "load"

    def __init__(self, loop: EventLoop, start: ChildStart, listener: ChannelListener) -> None:
        self._loop, self._listener = loop, listener
        self._unsent = memoryview(b"")
        self._is_sending = False
        self._line = bytearray()
        self._silence = Deadline(loop, self._report_silence)
        asked, self._request, self._answer, answered = _open_pipes()
        try:
            self.process = start_process(start, (str(asked), str(answered)), (asked, answered))
        except BaseException:
            _close_all((self._request, self._answer))
            raise
        finally:
            _close_all((asked, answered))
        for fd in (self._request, self._answer):
            os.set_blocking(fd, False)
        loop.watch(self._answer, self._take_answer)

    def send_function(self, said: bytes) -> None:
        self._begin(said)

    def send_call(self, number: int, event: bytes) -> None:
        self._begin(b'{"id":%d,"event":%b}\n' % (number, event))

    def read_rest(self) -> None:
        self._take_answer()

    def end_calls(self) -> None:
        if self._request >= 0:
            self._loop.unwatch(self._request)
            os.close(self._request)
            self._request = -1

    def describe_end(self, why: str) -> str:
        return f"returned no response ({why})"

    def close(self) -> None:
        self._silence.close()
        self._loop.unwatch(self._answer)
        self.end_calls()
        os.close(self._answer)

    def _begin(self, line: bytes) -> None:
        self._unsent = memoryview(line)
        self._send()

    def _send(self) -> None:
        if self._request < 0:
            return
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self._request, self._unsent) :]
        if self._unsent:
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
            self._silence.put_off(_PATIENCE)
            return
        self._line += chunk
        if chunk.endswith(b"\n"):
            line, self._line = bytes(self._line), bytearray()
            self._handle_line(line)
        elif len(self._line) > LARGEST_ANSWER + CHUNK:
            self._listener.handle_failure(build_size_failure(len(self._line)))

    def _handle_line(self, line: bytes) -> None:
        try:
            answer = parse_answer_line(line)
        except RecursionError:
            message = "returned a value that is nested too deeply"
            self._listener.handle_failure(CallFailure(Failing.TOO_LARGE, message))
            return
        self._listener.handle_answer(answer)
        if answer is not None and not answer.ends:
            self._listener.handle_wait()

    def _report_silence(self) -> None:
        message = "returned no response (it closed the response channel)"
        self._listener.handle_failure(CallFailure(Failing.NO_ANSWER, message))


def _open_pipes() -> tuple[int, int, int, int]:
    try:
        asked, request = os.pipe()
        try:
            return (asked, request, *os.pipe())
        except OSError:
            _close_all((asked, request))
            raise
    except OSError as error:
        message = f"cannot start a process: {(error.strerror or str(error)).lower()}"
        hint = "increase the limit of open files (ulimit -n), or use fewer --instances"
        raise FabricError(Problem("process/cannot-start", message, hint)) from error


def _close_all(descriptors: Sequence[int]) -> None:
    for one in descriptors:
        os.close(one)
