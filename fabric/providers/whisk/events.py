"""Schedules of functions; each provider creates them its own way."""

import json
from collections.abc import Mapping, Sequence

from fabric.model.hashing import hash_fields
from fabric.model.sample_events import sample_event
from fabric.providers.core.triggers import UTC_ZONES, convert_to_five_fields
from fabric.providers.whisk.work import WhiskClock

_DIGEST = 8


def plan_clocks(package: str, function: str, triggers: Sequence[str]) -> dict[str, WhiskClock]:
    """Plan one clock per distinct schedule."""
    found: dict[str, WhiskClock] = {}
    for number, text in enumerate(triggers):
        trigger = json.loads(text)
        if trigger.get("type") != "cron":
            continue
        schedule, zone = (
            convert_to_five_fields(str(trigger.get("schedule", ""))),
            read_zone(trigger),
        )
        # Hyphens may stand in all parts: what is before the digest may read the same for two.
        digest = hash_fields((package, function, schedule, zone))[:_DIGEST]
        ident = f"{package}-{function}-{digest}"
        event = sample_event("cron", trigger)
        called = f"{package}/{function}"
        found[ident] = WhiskClock(
            id=ident, function=called, schedule=schedule, zone=zone, event=event, number=number
        )
    return found


def read_zone(trigger: Mapping[str, object]) -> str:
    """Return the time zone; empty for UTC."""
    zone = str(trigger.get("timezone") or "")
    return "" if zone in UTC_ZONES else zone
