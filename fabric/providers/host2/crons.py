"""Schedules on Netlify: five cron fields in UTC, one schedule per deployed function. No effects."""

from fabric.providers.core.triggers import convert_utc_schedule


def convert_own_cron(schedule: str, zone: str = "") -> str:
    """Convert a schedule. Raises a ValueError if Netlify cannot express it."""
    return convert_utc_schedule(schedule, zone, "Netlify")
