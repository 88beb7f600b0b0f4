"""Parse observation options (logs, metrics, traces) and report invalid ones immediately."""

import datetime

from msgspec import Struct

from fabric.model.observed import TimeWindow, convert_to_nanoseconds
from fabric.model.problems import FabricError, Problem
from fabric.model.timestamps import parse_moment
from fabric.providers.core.observing import LogQuestion


class Observing(Struct, frozen=True):
    """An observation request. `text` and `level` filter lines.

    Without `platform`, provider messages are omitted.
    """

    # Logs, metrics or traces.
    kind: str
    window: TimeWindow
    text: str = ""
    level: str = ""
    # The maximum number of newest lines.
    most: int = 1_000
    platform: bool = False

    def question(self, window: TimeWindow | None = None, most: int = 0) -> LogQuestion:
        """Return the query for another time window and limit."""
        return LogQuestion(
            window or self.window, self.text, most or self.most, self.level, self.platform
        )


def parse_time_window(since: str, until: str, now: datetime.datetime) -> TimeWindow:
    """Parse a time window. It ends now by default."""
    begin = parse_moment("--since", since, now)
    end = parse_moment("--until", until, now) if until else now
    if begin >= end:
        message = f"--since {since} is not before " + (f"--until {until}" if until else "now")
        hint = "use an earlier --since, such as --since 2h --until 1h"
        raise FabricError(Problem("usage/bad-time", message, hint))
    # Nothing is kept of the time before clocks begin to count.
    return TimeWindow(max(convert_to_nanoseconds(begin), 0), max(convert_to_nanoseconds(end), 1))
