"""Schedules as host2 reads them: five fields, in UTC, one for a function. No effects."""

from fabric.providers.five_fields import five_fields, is_rate

_UTC = frozenset(("", "UTC", "Etc/UTC", "GMT", "Etc/GMT", "UCT", "Etc/UCT", "Zulu"))


def own_cron(schedule: str, zone: str = "") -> str:
    """A ValueError says what host2 cannot say."""
    if not is_rate(schedule) and zone not in _UTC:
        raise ValueError(f"its time zone is `{zone}`, and host2 reads schedules in UTC alone")
    return five_fields(schedule)
