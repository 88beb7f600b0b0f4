"""The table of a run over many services: what it shows, and that it always fits."""

import re

import pytest
from msgspec.structs import replace

from fabric.model.problems import Problem
from fabric.views.board import (
    Board,
    Frame,
    RunningTask,
    ServiceRow,
    format_board,
    format_outcome_line,
)
from fabric.views.messages import format_warnings
from fabric.views.style import Style, escape_for_display

PLAIN = Style()
WAITING = ServiceRow("w", 1, 3, {}, 0)
ROWS = {
    "waiting": WAITING,
    "running": replace(WAITING, counts={"ran": 1}, running=1),
    "done": replace(WAITING, counts={"ran": 1, "skipped": 2}, ms=1200),
    "failed": replace(WAITING, counts={"failed": 1}, running=1),
    "blocked": replace(WAITING, counts={"ran": 1, "blocked": 2}),
    "cancelled": replace(WAITING, counts={"ran": 1, "cancelled": 2}),
}


def board(rows: tuple[ServiceRow, ...], *running: RunningTask) -> Board:
    return Board(rows, running, 4, 9, 12.4, 75.0)


@pytest.mark.parametrize("state", ROWS)
def test_a_service_has_the_state_that_its_tasks_give_it(state: str) -> None:
    assert ROWS[state].state == state
    assert state in format_board(board((ROWS[state],)), Frame(80, 24), PLAIN)[0]


def test_service_with_built_tasks_waiting_for_others_is_waiting() -> None:
    assert replace(WAITING, counts={"ran": 2}).state == "waiting"


def test_row_shows_level_count_and_running_tasks_oldest_first() -> None:
    tasks = (
        RunningTask("w", "build:w/new", 0.3),
        RunningTask("w", "deploy:w/old@cloud1-lambda", 2.0),
        RunningTask("x", "build:x/main", 1.0),
    )
    line, foot = format_board(board((ROWS["running"],), *tasks), Frame(80, 24), PLAIN)
    assert line == "  1 ● w  running        1/3  deploy old 2.0 s, build new 0.3 s"
    assert foot == "  4 of 9 tasks, 0 of 1 service, 12 s, about 1 min 15 s left"


def test_each_level_is_named_once() -> None:
    rows = tuple(ServiceRow(f"s{number}", number // 2, 1, {}, 0) for number in range(4))
    heads = [line[:4].strip() for line in format_board(board(rows), Frame(80, 24), PLAIN)[:4]]
    assert heads == ["0", "", "1", ""]


def test_overflow_is_folded_and_important_rows_stay_visible() -> None:
    many = tuple(replace(WAITING, name=f"w{number:03d}") for number in range(180))
    rows = (ROWS["done"], *many, replace(ROWS["failed"], name="bad"), ROWS["running"])
    lines = format_board(board(rows), Frame(60, 5), PLAIN)
    shown = [line[4:].split()[1:3] for line in lines[:-2]]
    assert shown == [["w000", "waiting"], ["bad", "failed"], ["w", "running"]]
    assert lines[-2].strip() == "… and 179 more waiting, 1 done"


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("size", [(1, 1), (9, 3), (20, 4), (60, 10), (300, 90)])
def test_it_is_never_wider_or_higher_than_the_terminal(size: tuple[int, int], colour: bool) -> None:  # noqa: FBT001
    rows = tuple(replace(one, name=f"{word}-{n}") for n in range(40) for word, one in ROWS.items())
    tasks = tuple(RunningTask(row.name, f"build:{row.name}/main", 1.0) for row in rows)
    lines = format_board(board(rows, *tasks), Frame(*size), Style(colour=colour))
    assert len(lines) <= max(3, size[1])
    plain = [_without_colours(line) for line in lines]
    assert max(map(len, plain)) <= size[0]


def _without_colours(line: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", escape_for_display(line))


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ("done", "✓ w: 1 ran, 2 up to date (1.2 s)"),
        ("failed", "✗ w failed: 1 failed"),
        ("blocked", "- w blocked: 2 blocked, 1 ran"),
    ],
)
def test_a_service_that_ended_is_one_line(state: str, line: str) -> None:
    assert format_outcome_line(ROWS[state], PLAIN) == line


def test_a_service_that_was_only_cancelled_is_not_called_blocked() -> None:
    assert format_outcome_line(ROWS["cancelled"], PLAIN) == "- w cancelled: 2 cancelled, 1 ran"
    both = replace(WAITING, counts={"blocked": 1, "cancelled": 2})
    assert format_outcome_line(both, PLAIN) == "- w blocked: 1 blocked, 2 cancelled"


def test_warnings_that_say_the_same_are_counted() -> None:
    many = [Problem("deploy/upstream-not-deployed", f"`s{number}`") for number in range(200)]
    lines = format_warnings([many[0], Problem("lock/waiting", "wait"), *many[1:]], PLAIN)
    assert len(lines) == 5
    assert lines[3] == "warning[deploy/upstream-not-deployed] and 197 more warnings"
    assert lines[4] == "warning[lock/waiting] wait"
