"""Cron expressions and rates: are they right, and how are they written the one right way."""

import re
from typing import NamedTuple

_RATE = re.compile(r"rate\(\s*([0-9]{1,9})\s+(minute|hour|day)s?\s*\)")
_AT = re.compile(r"at\(\s*([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)\s*\)")
_CRON = re.compile(r"cron\(([^()]*)\)")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LONGEST_NUMBER = 4
# Of the month with this number; there is none with 0.
_LENGTHS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY_RULE = re.compile(r"\?|L|LW|L-[0-9]{1,2}|[0-9]{1,2}W")
_WEEKDAY_RULE = re.compile(r"\?|L|[1-7A-Z]{1,3}L|[1-7A-Z]{1,3}#[1-5]")


class ScheduleError(ValueError):
    """Why a schedule is refused."""


class _FieldRule(NamedTuple):
    noun: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    extra: re.Pattern[str] | None = None


_MINUTE = _FieldRule("minute", 0, 59)
_HOUR = _FieldRule("hour", 0, 23)
_MONTH = _FieldRule("month", 1, 12, _MONTHS)
_FIVE = (
    _MINUTE,
    _HOUR,
    _FieldRule("day of month", 1, 31),
    _MONTH,
    _FieldRule("day of week", 0, 7, _DAYS),
)
_SIX = (
    _MINUTE,
    _HOUR,
    _FieldRule("day of month", 1, 31, extra=_DAY_RULE),
    _MONTH,
    _FieldRule("day of week", 1, 7, _DAYS, _WEEKDAY_RULE),
    _FieldRule("year", 1970, 2199),
)


def normalize_schedule(schedule: str) -> str:
    """The schedule with one blank between fields and `minute` or `minutes` as its number asks."""
    text = schedule.strip()
    if text.startswith("rate"):
        return _normalize_rate(text)
    if text.startswith("at("):
        return _normalize_time(text)
    inner = _CRON.fullmatch(text)
    if inner:
        return f"cron({_normalize_fields(inner[1], _SIX)})"
    return _normalize_fields(text, _FIVE)


def _normalize_time(text: str) -> str:
    """Normalize one point in time."""
    from datetime import datetime  # few schedules have one

    found = _AT.fullmatch(text)
    try:
        time = datetime.fromisoformat(found[1]) if found else None
    except ValueError:
        time = None
    if time is None:
        raise ScheduleError("expected `at(<date>T<time>)`, such as `at(2030-01-31T08:00:00)`")
    return f"at({time:%Y-%m-%dT%H:%M:%S})"


def _normalize_rate(text: str) -> str:
    found = _RATE.fullmatch(text)
    if not found or not int(found[1]):
        raise ScheduleError("expected `rate(<n> minutes|hours|days)` with n ≥ 1")
    count, unit = int(found[1]), found[2]
    return f"rate({count} {unit if count == 1 else unit + 's'})"


def _normalize_fields(text: str, rules: tuple[_FieldRule, ...]) -> str:
    fields = text.split()
    if len(fields) != len(rules):
        asked = "`cron(...)` requires 6" if rules is _SIX else "cron requires 5"
        raise ScheduleError(f"{asked} fields, found {len(fields)} (or use `rate(5 minutes)`)")
    for field, rule in zip(fields, rules, strict=True):
        for item in field.split(","):
            _check_item(item, rule)
            if rules is _FIVE:
                _check_begin(item, rule)
    _check_dates(*fields[2:5])
    return " ".join(fields)


def _check_dates(days: str, months: str, weekdays: str) -> None:
    """Check that the date exists. Schedules with a weekday and ranges are not checked."""
    if weekdays not in ("*", "?") or not re.fullmatch(r"[0-9]+(,[0-9]+)*", days):
        return
    named = [_find_single_month(one) for one in months.upper().split(",")]
    lengths = [_LENGTHS[one] for one in named if one]
    if all(named) and min(map(int, days.split(","))) > max(lengths):
        raise ScheduleError("the day does not exist in these months, so it would never run")


def _find_single_month(text: str) -> int:
    """0 for more than one."""
    if text in _MONTHS:
        return _MONTHS.index(text) + 1
    return int(text) if text.isdecimal() else 0


def _check_item(item: str, rule: _FieldRule) -> None:
    if rule.extra and rule.extra.fullmatch(item.upper()):
        return
    span, slash, step = item.partition("/")
    if slash and not (_is_number(step) and int(step)):
        raise ScheduleError(f"invalid {rule.noun} `{item[:20]}`: a step must be a number ≥ 1")
    if span == "*":
        return
    low, dash, high = span.partition("-")
    ends = [_number(low, rule), *([_number(high, rule)] if dash else [])]
    if ends != sorted(ends) and rule.noun != "day of week":
        raise ScheduleError(f"invalid {rule.noun} `{item[:20]}`: the range is reversed")


def _check_begin(item: str, rule: _FieldRule) -> None:
    """Reject `5/15`: some providers read it as from 5 on, others as 5 only."""
    begin, slash, step = item.partition("/")
    if slash and begin != "*" and "-" not in begin:
        last = rule.high - 1 if rule.noun == "day of week" else rule.high
        raise ScheduleError(
            f"`{item[:20]}` has a step without a range: write `{begin}-{last}/{step}`"
        )


def _number(text: str, rule: _FieldRule) -> int:
    if text.upper() in rule.words:
        return rule.words.index(text.upper()) + rule.low
    if not _is_number(text) or not rule.low <= int(text) <= rule.high:
        raise ScheduleError(f"invalid {rule.noun} `{text[:20]}` ({rule.low}-{rule.high})")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
