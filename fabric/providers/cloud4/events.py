"""Triggers of functions on Alibaba Cloud: one URL for all routes, and a timer per schedule.

Both call the live alias, so a new version does not change them.
"""

import json
import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from fabric.model.calls.sample_events import sample_event
from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.cloud4.client import Cloud4Call, Cloud4Work, build_cloud4_call
from fabric.providers.cloud4.settings import LIVE
from fabric.providers.core.payloads import format_json
from fabric.providers.core.triggers import UTC_ZONES, convert_to_five_fields

ROUTE_TRIGGER = "fabric-http"
_CLOCK_BEGINS = "fabric-clock-"
_EVENT = "__fabric_event"
_DIGEST = 8
_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_MINUTES = {"minute": 1, "hour": 60, "day": 1_440}
# Methods and pages of other origins are told apart by what stands around the handler.
_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS")
_ROUTE: JsonObject = {
    "authType": "anonymous",
    "methods": list(_METHODS),
    "disableURLInternet": False,
}


class _Address(Struct, frozen=True, rename="camel"):
    url_internet: str = ""


class TriggerRow(Struct, frozen=True, rename="camel"):
    trigger_name: str
    trigger_config: str = ""
    qualifier: str = ""
    http_trigger: _Address | None = None

    @property
    def url(self) -> str:
        return self.http_trigger.url_internet if self.http_trigger else ""

    @property
    def is_clock(self) -> bool:
        return self.trigger_name.startswith(_CLOCK_BEGINS)

    def is_as(self, config: JsonObject) -> bool:
        """Return whether the trigger has these settings; additional fields are ignored."""
        try:
            there = msgspec.json.decode(self.trigger_config or "{}", type=dict[str, object])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        return self.qualifier == LIVE and all(there.get(one) == config[one] for one in config)


class _TriggerPage(Struct, frozen=True, rename="camel"):
    triggers: tuple[TriggerRow, ...] = ()
    next_token: str = ""


class FunctionSchedule(Struct, frozen=True):
    """A schedule. `digest` is a hash of all its settings and identifies earlier versions."""

    id: str
    config: JsonObject
    # The number of the config trigger.
    number: int = 0

    @property
    def title(self) -> str:
        return f"its schedule `{self.config['cronExpression']}`"

    @property
    def digest(self) -> str:
        return hash_fields((self.id, format_json(self.config)))[:16]


def schedule_of(schedule: str, zone: str = "") -> str:
    """Convert a schedule; a rate begins when its trigger is created. Raises a ValueError if Alibaba
    Cloud cannot express it."""
    rate = _RATE.fullmatch(schedule)
    if rate:
        return f"@every {int(rate[1]) * _MINUTES[rate[2]]}m"
    fields = convert_to_five_fields(schedule)
    return ("" if zone in UTC_ZONES else f"CRON_TZ={zone} ") + f"0 {fields}"


def plan_schedules(triggers: Sequence[str]) -> dict[str, FunctionSchedule]:
    """Plan one trigger per distinct schedule."""
    found: dict[str, FunctionSchedule] = {}
    for number, trigger in enumerate(map(json.loads, triggers)):
        if trigger.get("type") != "cron":
            continue
        zone = str(trigger.get("timezone") or "")
        expression = schedule_of(str(trigger.get("schedule", "")), zone)
        ident = f"{_CLOCK_BEGINS}{hash_fields((expression,))[:_DIGEST]}"
        payload = format_json({_EVENT: sample_event("cron", trigger)})
        config: JsonObject = {"cronExpression": expression, "enable": True, "payload": payload}
        found[ident] = FunctionSchedule(ident, config, number)
    return found


def list_triggers(work: Cloud4Work, name: str) -> Iterator[TriggerRow]:
    for page in work.pages("ListTriggers", (name, "triggers"), _TriggerPage):
        yield from page.triggers


def delete_trigger(work: Cloud4Work, name: str, trigger: str) -> None:
    work.delete("DeleteTrigger", name, "triggers", trigger)


def set_schedule(work: Cloud4Work, name: str, wanted: FunctionSchedule) -> None:
    """Create or update a schedule."""
    work.trying(lambda work: _set(work, name, wanted.id, "timer", wanted.config))


def open_public_route(work: Cloud4Work, name: str) -> str:
    """Ensure a public URL and return it."""
    return work.trying(lambda work: _set(work, name, ROUTE_TRIGGER, "http", _ROUTE)).url


def _set(work: Cloud4Work, name: str, trigger: str, kind: str, config: JsonObject) -> TriggerRow:
    parts = (name, "triggers", trigger)
    row = work.look(Cloud4Call("GetTrigger", "GET", parts), TriggerRow)
    if row is not None and row.is_as(config):
        return row
    document: JsonObject = {"triggerConfig": format_json(config), "qualifier": LIVE}
    if row is None:
        own: JsonObject = {"triggerName": trigger, "triggerType": kind, **document}
        call = build_cloud4_call("CreateTrigger", "POST", (name, "triggers"), own)
    else:
        call = build_cloud4_call("UpdateTrigger", "PUT", parts, document)
    return work.api.once(call, TriggerRow)
