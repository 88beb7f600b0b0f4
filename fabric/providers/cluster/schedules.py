"""Schedules as a CronJob has them: five fields, read in one time zone. No effects."""

import re

_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_HOUR, _DAY = 60, 24
_ANY = "*"
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_WEEK = len(_DAYS)
# Of six fields those that need a calendar: the last day, the nearest working day, the third Friday.
_CALENDAR = re.compile(r"[LW#]")


def five_fields(schedule: str) -> str:
    """A ValueError says what five fields cannot say."""
    rate = _RATE.fullmatch(schedule)
    if rate:
        return _rate(int(rate[1]), rate[2])
    if schedule.startswith("cron("):
        return _of_six(schedule.removeprefix("cron(").removesuffix(")").upper().split())
    minute, hour, day, month, weekday = schedule.upper().split()
    return f"{minute} {hour} {day} {month} {_weekdays(weekday)}"


def _rate(count: int, unit: str) -> str:
    """Only what comes out even: else the last pause of an hour or a day would be a shorter one."""
    if unit == "minute" and count % _HOUR == 0:
        count, unit = count // _HOUR, "hour"
    if unit == "hour" and count % _DAY == 0:
        count, unit = count // _DAY, "day"
    if unit == "minute" and _HOUR % count == 0:
        return "* * * * *" if count == 1 else f"*/{count} * * * *"
    if unit == "hour" and _DAY % count == 0:
        return "0 * * * *" if count == 1 else f"0 */{count} * * *"
    if unit == "day" and count == 1:
        return "0 0 * * *"
    raise ValueError(f"every {count} {unit}s is no schedule of five fields")


def _of_six(fields: list[str]) -> str:
    minute, hour, day, month, weekday, year = fields
    if year != _ANY:
        raise ValueError("it names a year, and five fields have none")
    if _CALENDAR.search(day) or re.search(r"#|L$", weekday):
        raise ValueError("it counts days in a month, and five fields cannot")
    return f"{minute} {hour} {_open(day)} {month} {_shifted(_open(weekday))}"


def _open(field: str) -> str:
    return _ANY if field == "?" else field


def _weekdays(field: str) -> str:
    """Sunday is 0 alone, and a week that runs over it is spelled out."""
    return ",".join(map(_span_of_days, field.split(",")))


def _span_of_days(item: str) -> str:
    span, slash, step = item.partition("/")
    low, dash, high = span.partition("-")
    if span == _ANY or not dash:
        return "0" + slash + step if span == "7" else item
    first, last = _day(low), _day(high)
    if first <= last < _WEEK:
        return item
    last += _WEEK if last < first else 0
    return ",".join(str(day % _WEEK) for day in range(first, last + 1, int(step or 1)))


def _day(text: str) -> int:
    return _DAYS.index(text) if text in _DAYS else int(text)


def _shifted(weekday: str) -> str:
    """In six fields the week begins with 1, in five with 0; steps keep their width."""

    def shifted(found: re.Match[str]) -> str:
        return found[0] if found[1] else str(int(found[2]) - 1)

    return re.sub(r"(/)?(\d+)", shifted, weekday)
