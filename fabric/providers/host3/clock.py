"""The machine that calls functions at their schedules: its settings and its files. No effects."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from fabric.model.calls.sample_events import sample_event
from fabric.model.names import TriggerKind
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.payloads import format_json
from fabric.providers.core.serving import SERVER_FOLDER, ServerRuntime
from fabric.providers.core.sources import build_handler_settings, read_timeout
from fabric.providers.core.triggers import convert_utc_schedule

# Data here: it runs in the machine.
_RUNTIMES = Path(__file__).parents[2] / "runtimes"
# In messages.
CLOCK_TITLE = "the clock on Fly"
_FILES = {"nodejs": "clock.mjs", "python": "fabric/runtimes/python/clock.py"}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
# The first and last number of each field.
_FIELDS = {
    "minutes": (0, 59),
    "hours": (0, 23),
    "days": (1, 31),
    "months": (1, 12),
    "weekdays": (0, 6),
}


def build_clock_settings(
    orders: Sequence[FunctionOrder], runtime: ServerRuntime, default_seconds: int
) -> str:
    """Build the settings of the clock from all schedules; empty if there are none. Each function is
    in the directory of its number."""
    rows = list(_list_rows(orders, runtime, default_seconds))
    return format_json(rows) if rows else ""


def _list_rows(
    orders: Sequence[FunctionOrder], runtime: ServerRuntime, default_seconds: int
) -> Iterator[JsonObject]:
    for number, order in enumerate(orders):
        said = {**build_handler_settings(order, "host3-machines", runtime.language), "routes": []}
        for trigger in map(json.loads, order.triggers):
            if trigger.get("type") == TriggerKind.CRON:
                schedule, zone = str(trigger["schedule"]), str(trigger.get("timezone") or "")
                event = {**sample_event("cron", trigger), "resources": [schedule], "region": ""}
                yield {
                    **expand_schedule(schedule, zone),
                    "said": said,
                    "folder": str(number),
                    "event": event,
                    "seconds": read_timeout(order) or default_seconds,
                }


def expand_schedule(schedule: str, zone: str) -> JsonObject:
    """Write each field of a schedule as a list of numbers.

    Raises a ValueError if five fields in UTC cannot express it.
    """
    fields = convert_utc_schedule(schedule, zone, CLOCK_TITLE).upper().split()
    minute, hour, day, month, weekday = fields
    named = (minute, hour, day, _number_names(month, _MONTHS, 1), _number_names(weekday, _DAYS, 0))
    numbers = {
        name: _expand_field(text, *ends)
        for text, (name, ends) in zip(named, _FIELDS.items(), strict=True)
    }
    # As in cron: of two restricted days one is sufficient.
    return {**numbers, "either": not day.startswith("*") and weekday != "*"}


def _number_names(field: str, names: Sequence[str], first: int) -> str:
    for number, name in enumerate(names, first):
        field = field.replace(name, str(number))
    return field


def _expand_field(field: str, least: int, most: int) -> list[int]:
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        low, dash, high = span.partition("-")
        first, last = (least, most) if span == "*" else (int(low), int(high if dash else low))
        found.update(range(first, last + 1, int(step or 1)))
    return sorted(found)


@cache
def read_clock_file(language: str) -> tuple[str, str]:
    """Return the path of the clock in the machine, beside the server, and its text."""
    path = _FILES[language]
    text = (_RUNTIMES / language / Path(path).name).read_text()
    return f"{SERVER_FOLDER}/{path}", text


def build_clock_command(runtime: ServerRuntime) -> tuple[str, ...]:
    *command, _server = runtime.start
    return (*command, read_clock_file(runtime.language)[0])
