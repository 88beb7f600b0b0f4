"""Schedules as edge1 reads them: five fields, in UTC. No effects but the one call."""

import json
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.providers.edge1.api import Edge1Call, sending
from fabric.providers.edge1.versions import Edge1Work

_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_SIX = re.compile(r"cron\((.*)\)")
_UTC = frozenset(("", "UTC", "Etc/UTC", "GMT", "Etc/GMT", "UCT", "Etc/UCT", "Zulu"))
# How many of a unit make the next one up: a step has to divide it, or the last one comes early.
_FULL = {"minute": 60, "hour": 24}
_RULES = re.compile(r"[LW#]")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class _Cron(Struct, frozen=True):
    cron: str


class _Schedules(Struct, frozen=True):
    schedules: tuple[_Cron, ...] = ()


def wanted_crons(triggers: Sequence[str]) -> tuple[str, ...]:
    """Each once; a ValueError says what five fields cannot say."""
    found = (json.loads(text) for text in triggers)
    timed = [one for one in found if one.get("type") == "cron"]
    return tuple(sorted({own_schedule(one["schedule"], one.get("timezone", "")) for one in timed}))


def own_schedule(schedule: str, zone: str = "") -> str:
    rate = _RATE.fullmatch(schedule)
    if rate:
        return _of_rate(int(rate[1]), rate[2])
    if zone not in _UTC:
        raise ValueError(f"its time zone is `{zone}`, and edge1 reads schedules in UTC alone")
    six = _SIX.fullmatch(schedule)
    fields = six[1].split() if six else schedule.split()
    if six:
        fields = _without_year(fields)
    *rest, weekday = fields
    return " ".join((*rest, _weekdays(weekday, is_from_one=bool(six))))


def _of_rate(count: int, unit: str) -> str:
    if unit == "day":
        if count == 1:
            return "0 0 * * *"
        raise ValueError("days of a rate do not come out even over a month")
    full = _FULL[unit]
    if count > full or full % count:
        raise ValueError(f"{full} {unit}s cannot be divided by {count}")
    if count == full:
        return "0 * * * *" if unit == "minute" else "0 0 * * *"
    step = "*" if count == 1 else f"*/{count}"
    return f"{step} * * * *" if unit == "minute" else f"0 {step} * * *"


def _without_year(fields: Sequence[str]) -> list[str]:
    *five, year = fields
    if year != "*":
        raise ValueError(f"it has the year `{year}`, which five fields cannot say")
    if any(_RULES.search(one.upper()) for one in (five[2], five[4]) if not _is_named(one)):
        raise ValueError("`L`, `W` and `#` are left out: fabric does not set them at edge1")
    return ["*" if one == "?" else one for one in five]


def _is_named(field: str) -> bool:
    """Weekdays by their names have letters that mean something else by themselves."""
    return all(part in _DAYS for part in re.split(r"[,/-]", field.upper()))


def _weekdays(field: str, *, is_from_one: bool) -> str:
    """By their names, each: edge1 counts from 1, five fields from 0, where 7 is Sunday too."""
    if field == "*":
        return field
    first = 1 if is_from_one else 0
    found = {day % len(_DAYS) for item in field.split(",") for day in _days(item, first)}
    return ",".join(_DAYS[day] for day in sorted(found))


def _days(item: str, first: int) -> Iterator[int]:
    span, slash, step = item.partition("/")
    low, dash, high = span.partition("-")
    begin = 0 if span == "*" else _day(low, first)
    end = _day(high, first) if dash else (len(_DAYS) - 1 if slash or span == "*" else begin)
    end += len(_DAYS) if end < begin else 0
    yield from range(begin, end + 1, int(step or 1))


def _day(text: str, first: int) -> int:
    return _DAYS.index(text.upper()) if text.upper() in _DAYS else int(text) - first


def set_crons(work: Edge1Work, name: str, crons: Sequence[str], before: str | None) -> None:
    """`before` is what is known to be there, as text; None where nobody knows."""
    there = crons_text(_found_crons(work, name)) if before is None else before
    if crons_text(crons) != there:
        rows = [{"cron": one} for one in crons]
        work.tell(sending("PUT", work.script(name, "/schedules"), rows))


def crons_text(crons: Sequence[str]) -> str:
    return "\n".join(sorted(crons))


def _found_crons(work: Edge1Work, name: str) -> tuple[str, ...]:
    found = work.ask(Edge1Call("GET", work.script(name, "/schedules")), _Schedules)
    return tuple(one.cron for one in found.schedules)
