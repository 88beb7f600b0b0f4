"""Schedules on Cloudflare: five cron fields in UTC. Only `set_crons` has effects."""

import json
from collections.abc import Sequence

from msgspec import Struct

from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.triggers import convert_utc_schedule
from fabric.providers.edge1.functions import Edge1Work


class _Cron(Struct, frozen=True):
    cron: str


class _Schedules(Struct, frozen=True):
    schedules: tuple[_Cron, ...] = ()


def plan_crons(triggers: Sequence[str]) -> tuple[str, ...]:
    """Convert distinct schedules. Raises a ValueError if five fields cannot express one."""
    found = (json.loads(text) for text in triggers)
    timed = [one for one in found if one.get("type") == "cron"]
    return tuple(
        sorted({convert_schedule(one["schedule"], one.get("timezone", "")) for one in timed})
    )


def convert_schedule(schedule: str, zone: str = "") -> str:
    return convert_utc_schedule(schedule, zone, "Cloudflare")


def set_crons(work: Edge1Work, name: str, crons: Sequence[str], before: str | None) -> None:
    """Set the schedules. `before` are the known existing ones as text, or None if unknown."""
    there = format_crons(_fetch_crons(work, name)) if before is None else before
    if format_crons(crons) != there:
        rows = [{"cron": one} for one in crons]
        work.tell(build_json_call("PUT", work.script(name, "/schedules"), rows))


def format_crons(crons: Sequence[str]) -> str:
    return "\n".join(sorted(crons))


def _fetch_crons(work: Edge1Work, name: str) -> tuple[str, ...]:
    found = work.ask(ProviderCall("GET", work.script(name, "/schedules")), _Schedules)
    return tuple(one.cron for one in found.schedules)
