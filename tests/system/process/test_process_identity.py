"""The identity of a process, and what it proves."""

import os

import pytest
from msgspec.structs import replace

from fabric.system.process.process_identity import (
    Mark,
    Process,
    build_children_mark,
    build_this_mark,
    identify_this_process,
    is_mark_alive,
    is_mark_dead,
    is_surely_alive,
    is_surely_dead,
)

ME = identify_this_process()
PARTS = build_this_mark().split("-")


def test_this_process_is_alive() -> None:
    assert ME.pid == os.getpid()
    assert is_surely_alive(ME)
    assert not is_surely_dead(ME)
    assert is_mark_alive(build_this_mark())
    assert not is_mark_dead(build_this_mark())


def test_a_pid_that_was_used_again_is_another_process() -> None:
    earlier = replace(ME, started=ME.started - 1)
    assert is_surely_dead(earlier)
    assert not is_surely_alive(earlier)
    mark = Mark(f"{PARTS[0]}-{ME.started - 1}-{PARTS[2]}")
    assert is_mark_dead(mark)
    assert not is_mark_alive(mark)


@pytest.mark.parametrize(
    "changes",
    [
        {"boot": "other"},
        {"namespace": "pid:[1]"},
        {"boot": ""},
        {"namespace": ""},
        {"started": 0},
    ],
    ids=str,
)
def test_a_process_that_cannot_be_seen_proves_nothing(changes: dict[str, str]) -> None:
    for started in (ME.started, ME.started - 1):
        other = replace(ME, **{"started": started, **changes})
        assert not is_surely_dead(other)
        assert not is_surely_alive(other)


@pytest.mark.parametrize(
    "mark",
    ["", "1-2", "1-2-xyz", f"{PARTS[0]}-1-{'0' * 12}", f"{'-'.join(PARTS)}-1"],
    ids=["empty", "short", "no namespace", "other namespace", "long"],
)
def test_a_mark_of_another_machine_proves_nothing(mark: str) -> None:
    assert not is_mark_dead(Mark(mark))
    assert not is_mark_alive(Mark(mark))


def test_a_process_is_named_by_user_and_host() -> None:
    assert Process("me", "host", 1).who == "me@host"


def test_children_are_marked_with_the_process_and_its_namespace() -> None:
    parent = Process("me", "host", 7, "boot", "pid:[4026531836]", 99)
    assert build_children_mark(parent) == ("FABRIC_HOLDER", "7-99-4026531836")
