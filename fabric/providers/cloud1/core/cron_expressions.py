"""Cron expressions: from five fields to the six of AWS. No effects."""

from collections.abc import Iterator

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_WEEK = len(_DAYS)
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_ANY, _OPEN = "*", "?"
# By these names the day begins when it does for a rule.
_UTC = frozenset(
    "UTC UCT GMT GMT0 GMT+0 GMT-0 Greenwich Universal Zulu Etc/UTC Etc/UCT Etc/GMT Etc/GMT0"
    " Etc/GMT+0 Etc/GMT-0 Etc/Greenwich Etc/Universal Etc/Zulu".split()
)


def convert_cron_expression(schedule: str) -> str:
    """Convert five cron fields to the six of AWS. Raises a ValueError if AWS cannot express
    them."""
    if schedule.startswith(("rate(", "cron(", "at(")):
        return schedule
    minute, hour, day, month, weekday = schedule.upper().split()
    if _ANY not in (day, weekday):
        raise ValueError("a day of the month and a day of the week cannot be combined")
    days = _OPEN if weekday != _ANY else day
    weekdays = _OPEN if weekday == _ANY else _name_weekdays(weekday)
    fields = (
        _expand_steps(minute),
        _expand_steps(hour),
        _expand_steps(days),
        _expand_steps(_number_months(month)),
    )
    return f"cron({' '.join(fields)} {weekdays} *)"


def is_bound_to(zone: str, schedule: str) -> bool:
    """Return whether the time zone affects the schedule."""
    return bool(zone) and zone not in _UTC and not schedule.startswith("rate(")


def _name_weekdays(field: str) -> str:
    """Replace weekday numbers by names, because AWS counts from another day."""
    found = {day % _WEEK for item in field.split(",") for day in _expand_days(item)}
    return ",".join(_DAYS[day] for day in sorted(found))


def _expand_days(item: str) -> Iterator[int]:
    span, slash, step = item.partition("/")
    if span == _ANY:
        low, high = 0, _WEEK - 1
    else:
        first, dash, last = span.partition("-")
        low = _parse_day(first)
        high = _parse_day(last) if dash else (_WEEK - 1 if slash else low)
    high += _WEEK if high < low else 0
    yield from range(low, high + 1, int(step or 1))


def _parse_day(text: str) -> int:
    return _DAYS.index(text) if text in _DAYS else int(text)


def _number_months(months: str) -> str:
    for number, name in enumerate(_MONTHS, 1):
        months = months.replace(name, str(number))
    return months


def _expand_steps(field: str) -> str:
    """Write a range with steps as a list."""
    return ",".join(part for item in field.split(",") for part in _list_parts(item))


def _list_parts(item: str) -> Iterator[str]:
    span, slash, step = item.partition("/")
    low, dash, high = span.partition("-")
    if slash and dash:
        yield from map(str, range(int(low), int(high) + 1, int(step)))
    else:
        yield item
