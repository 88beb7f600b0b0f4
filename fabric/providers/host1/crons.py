"""Schedules on Vercel: five numeric cron fields in UTC. No effects."""

import re

from fabric.providers.core.triggers import convert_utc_schedule

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)


def convert_own_cron(schedule: str, zone: str = "") -> str:
    """Convert a schedule. Raises a ValueError if Vercel cannot express it."""
    minute, hour, day, month, weekday = convert_utc_schedule(schedule, zone, "Vercel").split()
    if day != "*" and weekday != "*":
        raise ValueError("a day of the month and a day of the week cannot be combined")
    return " ".join(
        (minute, hour, day, _number_names(month, _MONTHS, 1), _number_names(weekday, _DAYS, 0))
    )


def _number_names(field: str, names: tuple[str, ...], first: int) -> str:
    return re.sub(r"[A-Za-z]+", lambda hit: str(names.index(hit[0].upper()) + first), field)
