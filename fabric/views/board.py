"""A running deployment of many services as a table that fits into a terminal."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from fabric.model.task_id import name_of
from fabric.model.text.amounts import format_count, format_duration
from fabric.views.style import Style

# In this order services are shown where not all of them fit.
_STATES = ("failed", "running", "blocked", "cancelled", "waiting", "done")
_SIGNS = {
    "failed": "✗",
    "running": "●",
    "blocked": "-",
    "cancelled": "-",
    "waiting": "·",
    "done": "✓",
}
_WORDS = {
    "failed": "failed",
    "blocked": "blocked",
    "cancelled": "cancelled",
    "ran": "ran",
    "skipped": "up to date",
}
# A service is the first of these that one of its tasks is.
_BAD = ("failed", "blocked", "cancelled")
_LEAST_HEIGHT = 3
_SECONDS_A_MINUTE = 60

# Text, and how it is painted.
Piece = tuple[str, Callable[[str], str]]


class ServiceRow(Struct, frozen=True):
    """How far a service is: `counts` are its ended tasks by status."""

    name: str
    level: int
    total: int
    counts: Mapping[str, int]
    running: int
    ms: int = 0

    @property
    def ended(self) -> int:
        return sum(self.counts.values())

    @property
    def state(self) -> str:
        bad = next((word for word in _BAD if self.counts.get(word)), "")
        if bad or self.ended == self.total:
            return bad or "done"
        # Built, and now waiting for others to be released: that is waiting too.
        return "running" if self.running else "waiting"


class RunningTask(Struct, frozen=True):
    service: str
    task: str
    seconds: float


class Board(Struct, frozen=True):
    """All services, lowest level first."""

    rows: tuple[ServiceRow, ...]
    running: tuple[RunningTask, ...]
    ended: int
    total: int
    elapsed: float
    # The estimated remaining time in seconds.
    left: float | None = None


class Frame(Struct, frozen=True):
    width: int
    height: int


def format_outcome_line(row: ServiceRow, style: Style) -> str:
    """Format a line for a service whose last task ended."""
    paint = _list_paints(style).get(row.state, style.good)
    state = "" if row.state == "done" else f" {row.state}"
    took = f" ({format_duration(row.ms)})" if row.ms else ""
    return f"{paint(_SIGNS[row.state])} {style.strong(row.name)}{state}: {_format_count(row)}{took}"


def _list_paints(style: Style) -> Mapping[str, Callable[[str], str]]:
    return {
        "failed": style.bad,
        "running": style.note,
        "blocked": style.warn,
        "cancelled": style.warn,
        "done": style.good,
    }


def _format_count(row: ServiceRow) -> str:
    return ", ".join(
        f"{row.counts[status]} {word}" for status, word in _WORDS.items() if row.counts.get(status)
    )


def format_board(board: Board, frame: Frame, style: Style) -> list[str]:
    """Format the board within the frame. Rows that do not fit are counted in one line."""
    room = max(_LEAST_HEIGHT, frame.height) - 1
    shown, rest = _select_fitting_rows(board.rows, room)
    width = max((len(row.name) for row in shown), default=0)
    by_service: dict[str, list[RunningTask]] = {}
    for task in board.running:
        by_service.setdefault(task.service, []).append(task)
    lines = []
    level = -1
    for row in shown:
        head = "" if row.level == level else str(row.level)
        level = row.level
        lines.append(_build_row_pieces(row, head, width, by_service.get(row.name, ()), style))
    if rest:
        lines.append([(f"    … and {_format_rest(rest)}", style.dim)])
    lines.append([(f"  {_format_foot(board)}", style.dim)])
    return [_format_pieces(pieces, frame.width) for pieces in lines]


def _select_fitting_rows(
    rows: Sequence[ServiceRow], room: int
) -> tuple[list[ServiceRow], dict[str, int]]:
    """Select the most important rows in order, and count the others by state."""
    if len(rows) <= room:
        return list(rows), {}
    ranked = sorted(range(len(rows)), key=lambda n: (_STATES.index(rows[n].state), n))
    kept = set(ranked[: max(0, room - 1)])
    rest: dict[str, int] = {}
    for number in ranked[len(kept) :]:
        rest[rows[number].state] = rest.get(rows[number].state, 0) + 1
    return [row for number, row in enumerate(rows) if number in kept], rest


def _format_rest(rest: Mapping[str, int]) -> str:
    """`180 more waiting, 12 done`."""
    words = [f"{count} {state}" for state, count in rest.items()]
    first, _, state = words[0].partition(" ")
    return ", ".join([f"{first} more {state}", *words[1:]])


def _build_row_pieces(
    row: ServiceRow, head: str, width: int, running: Sequence[RunningTask], style: Style
) -> list[Piece]:
    paint = _list_paints(style).get(row.state, style.dim)
    done = f"{row.ended}/{row.total}"
    return [
        (f"{head:>3} ", style.dim),
        (f"{_SIGNS[row.state]} ", paint),
        (f"{row.name:<{width}}  ", _make_plain_piece),
        (f"{row.state:<9}  ", paint),
        (f"{done:>7}  ", _make_plain_piece),
        (_format_detail(row, running), style.dim),
    ]


def _format_detail(row: ServiceRow, running: Sequence[RunningTask]) -> str:
    if running:
        oldest = sorted(running, key=lambda one: -one.seconds)
        return ", ".join(f"{_shorten_task(one)} {one.seconds:.1f} s" for one in oldest)
    return format_duration(row.ms) if row.ms and row.ended == row.total else ""


def _shorten_task(one: RunningTask) -> str:
    """A task in the row of its service: `build:api/hello` is `build hello`."""
    name = name_of(one.task)
    own = name.service if name.service != one.service else ""
    return " ".join(filter(None, (name.kind, name.function or own)))


def _format_foot(board: Board) -> str:
    done = sum(row.ended == row.total for row in board.rows)
    words = [
        f"{board.ended} of {format_count(board.total, 'task')}",
        f"{done} of {format_count(len(board.rows), 'service')}",
        _time(board.elapsed),
    ]
    if board.left is not None and board.ended < board.total:
        words.append(f"about {_time(max(1.0, board.left))} left")
    return ", ".join(words)


def _time(seconds: float) -> str:
    if seconds < _SECONDS_A_MINUTE:
        return f"{seconds:.0f} s"
    return f"{int(seconds // _SECONDS_A_MINUTE)} min {int(seconds % _SECONDS_A_MINUTE):02d} s"


def _make_plain_piece(text: str) -> str:
    return text


def _format_pieces(pieces: Sequence[Piece], width: int) -> str:
    """Format the pieces. The text is cut before colors are added, because colors have no width."""
    line, room = "", width
    last = len(pieces) - 1
    for number, (text, paint) in enumerate(pieces):
        text = text.rstrip() if number == last else text  # noqa: PLW2901
        cut = text if len(text) <= room else f"{text[: max(0, room - 1)]}…"
        line += paint(cut) if cut.strip() and room > 0 else cut[:room]
        room -= len(cut)
        if len(cut) < len(text) or room <= 0:
            break
    return line
