"""Schedules and queues on Cloudflare. Both belong to a Worker, not to one of its versions."""

import json
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.release_state import ReleaseState
from fabric.providers.core.triggers import convert_utc_schedule
from fabric.providers.edge1.bindings.bindings import Resource, ResourceKind
from fabric.providers.edge1.bindings.consumers import plan_consumers
from fabric.providers.edge1.bindings.resources import (
    delete_consumer,
    find_or_create,
    find_queue_id,
    list_consumers,
    look_for_queue,
    put_consumer,
)
from fabric.providers.edge1.work import Edge1Work


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


class _Stored(Struct, frozen=True):
    """A consumer of the last release."""

    queue: str
    dead_letter_queue: str = ""
    settings: JsonObject = {}


def set_consumers(
    work: Edge1Work, name: str, function: LiveFunction, kept: ReleaseState, stored_key: str
) -> str:
    """Set the consumers of a Worker, and return what to store of them."""
    planned = plan_consumers(work.own.bindings, [json.loads(one) for one in function.triggers])
    wanted = tuple(
        _Stored(one.queue.name, one.dead.name if one.dead else "", one.settings) for one in planned
    )
    text = msgspec.json.encode(wanted, order="deterministic").decode() if wanted else ""
    if kept.sure(stored_key) == text:
        return text
    for plan, one in zip(planned, wanted, strict=True):
        if plan.dead:
            find_or_create(work, plan.dead, kept)
        find_or_create(work, plan.queue, kept)
        _set_consumer(work, name, find_queue_id(work, plan.queue, kept), one)
        work.watch.hear(f"{function.name}: reads the queue `{one.queue}`")
    unread = _list_stored(kept, stored_key) - {one.queue for one in wanted}
    _delete_consumers(work, name, kept, unread)
    return text


def _set_consumer(work: Edge1Work, name: str, queue_id: str, wanted: _Stored) -> None:
    document: JsonObject = {
        "type": "worker",
        "script_name": name,
        "settings": wanted.settings,
        **({"dead_letter_queue": wanted.dead_letter_queue} if wanted.dead_letter_queue else {}),
    }

    def act(once: Edge1Work) -> None:
        there = next(iter(list_consumers(once, queue_id)), None)
        if there is not None and there.worker != name:
            whose = f"the Worker `{there.worker}`" if there.worker else "an HTTP client"
            message = f"the queue `{wanted.queue}` already has a consumer: {whose}"
            hint = "a queue has one consumer: remove the other one, or use another queue"
            raise FabricError(Problem("deploy/foreign", message, hint))
        put_consumer(once, queue_id, there.consumer_id if there else "", document)

    work.trying(act)


def delete_consumers(work: Edge1Work, name: str, kept: ReleaseState, stored_key: str) -> None:
    """Delete the consumers of a Worker that is deleted next: its queues stay."""
    _delete_consumers(work, name, kept, _list_stored(kept, stored_key))


def _delete_consumers(work: Edge1Work, name: str, kept: ReleaseState, queues: set[str]) -> None:
    for one in sorted(queues):
        queue = Resource(ResourceKind.QUEUE, one)
        queue_id = look_for_queue(work, queue, kept)
        for row in list_consumers(work, queue_id) if queue_id else ():
            if row.worker == name:
                delete_consumer(work, queue_id, row.consumer_id)


def _list_stored(kept: ReleaseState, stored_key: str) -> set[str]:
    text = kept.texts.get(stored_key, "")
    rows = msgspec.json.decode(text, type=tuple[_Stored, ...]) if text else ()
    return {one.queue for one in rows}
