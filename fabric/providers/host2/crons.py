"""Schedules on Netlify: five cron fields in UTC, one schedule per deployed function. No effects."""

from fabric.providers.five_fields import in_utc


def own_cron(schedule: str, zone: str = "") -> str:
    """Convert a schedule. Raises a ValueError if Netlify cannot express it."""
    return in_utc(schedule, zone, "Netlify")
