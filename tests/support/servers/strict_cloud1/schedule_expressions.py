"""When rules and schedules fire, as cloud1 wants it said."""

import re

_RATE = re.compile(r"rate\(([1-9]\d*) (minute|hour|day)(s?)\)")
_CRON = re.compile(r"cron\((\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\)")
_AT = re.compile(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)")
_FIELD = re.compile(r"[\dA-Z*?/,#LW-]+")


def is_rate_or_cron(expression: str) -> bool:
    """`rate(1 minute)`, `rate(2 minutes)`; six fields, of which one of the days is `?`."""
    rate = _RATE.fullmatch(expression)
    if rate:
        return (rate[1] == "1") == (rate[3] == "")
    cron = _CRON.fullmatch(expression)
    if not cron:
        return False
    days = (cron[3] == "?", cron[5] == "?")
    others = [cron[number] for number in (1, 2, 4, 6)]
    return days.count(True) == 1 and "?" not in others and all(map(_FIELD.fullmatch, cron.groups()))


def is_at(expression: str) -> bool:
    return bool(_AT.fullmatch(expression))
