"""One thread for many descriptors and moments."""

import contextlib
import os
from collections.abc import Iterator

import pytest

from fabric.system.event_loop import Deadline, EventLoop


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    with contextlib.closing(EventLoop()) as made:
        yield made


def ready() -> int:
    """A descriptor with something to read."""
    reader, writer = os.pipe()
    os.write(writer, b"x")
    os.close(writer)
    return reader


def test_pending_event_is_not_delivered_to_a_reused_descriptor(
    loop: EventLoop,
) -> None:
    first, second = ready(), ready()
    told: list[str] = []
    empty, _writer = os.pipe()

    def take_the_place_of(other: int) -> None:
        told.append("old")
        if len(told) == 1:
            loop.unwatch(other)
            os.dup2(empty, other)
            loop.watch(other, lambda: told.append("new"))

    loop.watch(first, lambda: take_the_place_of(second))
    loop.watch(second, lambda: take_the_place_of(first))
    loop.turn()
    assert told == ["old"]
    for fd in (first, second, empty, _writer):
        os.close(fd)


def test_a_deadline_that_is_put_off_comes_once_and_late(loop: EventLoop) -> None:
    came: list[str] = []
    one = Deadline(loop, lambda: came.append("one"))
    one.put_off(0.01)
    one.put_off(0.05)
    loop.later(0.03, lambda: came.append("between"))
    loop.later(0.2, lambda: came.append("over"))
    loop.run_until(lambda: "over" in came)
    assert came == ["between", "one", "over"]


def test_a_deadline_may_be_drawn_nearer_and_called_off(loop: EventLoop) -> None:
    came: list[str] = []
    near = Deadline(loop, lambda: came.append("near"))
    off = Deadline(loop, lambda: came.append("off"))
    near.put_off(60)
    near.put_off(0.01)
    off.put_off(0.01)
    off.call_off()
    loop.later(0.05, lambda: came.append("over"))
    loop.run_until(lambda: "over" in came)
    assert came == ["near", "over"]


def test_posted_callback_wakes_a_waiting_loop(loop: EventLoop) -> None:
    came: list[str] = []
    loop.post(lambda: came.append("posted"))
    loop.run_until(lambda: bool(came))


def test_closed_loop_does_not_write_to_a_reused_descriptor() -> None:
    loop = EventLoop()
    before = set(os.listdir("/proc/self/fd"))
    loop.close()
    gone = [int(one) for one in before - set(os.listdir("/proc/self/fd"))]
    ear, bell = os.pipe()  # it gets the numbers that have become free
    try:
        assert {ear, bell} & set(gone)
        os.set_blocking(ear, False)
        loop.post(lambda: None)
        with pytest.raises(BlockingIOError):
            os.read(ear, 1)
    finally:
        os.close(ear)
        os.close(bell)


def test_descriptor_can_be_watched_again_by_the_same_callback(loop: EventLoop) -> None:
    told: list[int] = []

    class Reader:
        def read(self) -> None:
            told.append(1)
            loop.watch(fd, self.read)

    fd = ready()
    reader = Reader()
    loop.watch(fd, reader.read)
    loop.run_until(lambda: len(told) > 2)
    os.close(fd)
