"""The context of one call to OpenWhisk, and the parts that differ between its providers."""

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from fabric.model.calls.sample_events import sample_event
from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.errors import Judged, RefusedCallError
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.payloads import format_json
from fabric.providers.core.sources import SourceRuntimes
from fabric.providers.core.triggers import UTC_ZONES, convert_to_five_fields
from fabric.providers.core.work import ApiWork
from fabric.providers.whisk.client import CONFLICT, WhiskApi, WhiskPlace
from fabric.system.retry import TransientError

EVENT = "__fabric_event"


class WhiskClock(Struct, frozen=True):
    """A schedule. `event` is its argument, and `number` is the number of the config trigger."""

    id: str
    # The called action with its package.
    function: str
    schedule: str
    zone: str
    event: JsonObject
    number: int = 0

    @property
    def title(self) -> str:
        return f"its schedule `{self.schedule}`"

    @property
    def payload(self) -> JsonObject:
        return {EVENT: self.event}

    @property
    def digest(self) -> str:
        fields = (self.id, self.function, self.schedule, self.zone, format_json(self.event))
        return hash_fields(fields)[:16]


class Clocks(Protocol):
    """A provider's schedules. Thread-safe; every call is idempotent."""

    def there(self, work: "WhiskWork", package: str) -> Mapping[str, str]:
        """List the schedules that call actions of this package: their names and actions."""

    def set(self, work: "WhiskWork", clock: WhiskClock) -> None:
        """Create or update a schedule."""

    def delete(self, work: "WhiskWork", ident: str) -> None:
        """Delete a schedule. A missing one is not an error."""


class WhiskProvider(Struct, frozen=True, kw_only=True):
    """The parts that differ between providers. `name` is the display name."""

    id: str
    name: str
    runtimes: SourceRuntimes
    has_zones: bool
    judged: Judged
    clocks: Clocks


class WhiskWork(ApiWork[WhiskApi], frozen=True, kw_only=True):
    place: WhiskPlace
    provider: WhiskProvider

    def change(self, call: ProviderCall) -> None:
        """Make a change. Raises a TransientError on a conflict, so that the caller looks again."""
        try:
            self.api.once(call, object)
        except RefusedCallError as error:
            if error.status == CONFLICT:
                raise TransientError(f"conflict: another process changed `{call.title}`") from error
            raise


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
