"""Schedules with the alarm package of OpenWhisk: an alarm fires a trigger, and a rule calls the
action."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.whisk.client import (
    WhiskAnnotation,
    WhiskWork,
    build_annotations,
    read_annotation,
)
from fabric.providers.whisk.deployer import Activation, activate_action
from fabric.providers.whisk.events import WhiskClock
from fabric.providers.whisk.functions import foreign_resource_problem

_SYSTEM, _ALARM = "whisk.system", "alarms/alarm"
_CALLS = "fabric-calls"
_PAGE = 200


class _AlarmedRow(Struct, frozen=True):
    name: str
    annotations: tuple[WhiskAnnotation, ...] = ()

    @property
    def calls(self) -> str:
        """The action that the trigger calls; empty if it is not ours."""
        return read_annotation(self.annotations, _CALLS)


class Alarms(Struct, frozen=True):
    def there(self, work: WhiskWork, package: str) -> Mapping[str, str]:
        begin = f"{package}/"
        return {one.name: one.calls for one in _list_triggers(work) if one.calls.startswith(begin)}

    def set(self, work: WhiskWork, clock: WhiskClock) -> None:
        """Create or re-create a schedule: the settings of an existing alarm cannot be read."""

        def act(work: WhiskWork) -> None:
            row = work.look(f"/triggers/{clock.id}", _AlarmedRow)
            if row is not None and row.calls != clock.function:
                raise FabricError(foreign_resource_problem("trigger", clock.id, clock.function))
            texts = {_CALLS: clock.function, "feed": f"/{_SYSTEM}/{_ALARM}"}
            document = {"annotations": build_annotations(texts)}
            work.change(build_json_call("PUT", f"/triggers/{clock.id}?overwrite=true", document))
            _ensure_rule(work, clock)
            if row is not None:
                _call_alarm_feed(work, clock.id, {"lifecycleEvent": "DELETE"})
            _create_alarm(work, clock)

        work.trying(act)

    def delete(self, work: WhiskWork, ident: str) -> None:
        """Delete a schedule. An alarm that cannot be deleted fires a missing trigger and then
        stops."""
        ended = work.patient(lambda: _call_alarm_feed(work, ident, {"lifecycleEvent": "DELETE"}))
        if ended is not None and ended.failure:
            work.watch.hear(f"{ident}: message from alarms: {work.quoted(ended.failure)}")
        for kind in ("rules", "triggers"):
            with ignore_missing():
                work.ask(ProviderCall("DELETE", f"/{kind}/{ident}"), object)


def _list_triggers(work: WhiskWork) -> Iterator[_AlarmedRow]:
    skip = 0
    while True:
        path = f"/triggers?limit={_PAGE}&skip={skip}"
        rows = work.ask(ProviderCall("GET", path), tuple[_AlarmedRow, ...])
        yield from rows
        if len(rows) < _PAGE:
            return
        skip += _PAGE


def _ensure_rule(work: WhiskWork, clock: WhiskClock) -> None:
    if work.look(f"/rules/{clock.id}", object) is None:
        begin = f"/{work.place.namespace}"
        document = {"trigger": f"{begin}/{clock.id}", "action": f"{begin}/{clock.function}"}
        work.change(build_json_call("PUT", f"/rules/{clock.id}?overwrite=false", document))


def _create_alarm(work: WhiskWork, clock: WhiskClock) -> None:
    told: JsonObject = {
        "lifecycleEvent": "CREATE",
        "cron": clock.schedule,
        "trigger_payload": clock.payload,
        **({"timezone": clock.zone} if clock.zone else {}),
    }
    ended = _call_alarm_feed(work, clock.id, told)
    if ended is None:
        message = f"the schedule `{clock.schedule}` requires the package `/{_SYSTEM}/alarms`"
        hint = "install the package in OpenWhisk, or remove the trigger"
        raise FabricError(Problem("provider/no-alarms", message, hint))
    if ended.failure:
        words = work.quoted(ended.failure)
        message = f"the alarm of `{clock.id}` was rejected: {words}"
        raise FabricError(
            Problem("provider/refused", message, "this is a message from the alarms package")
        )


def _call_alarm_feed(work: WhiskWork, ident: str, told: JsonObject) -> Activation | None:
    """Call the alarm feed with our key, which it uses for the trigger. Returns None if the package
    does not exist."""
    door = work.api.door
    name = f"/{work.place.namespace}/{ident}"
    given = {**told, "triggerName": name, "authKey": door.key.reveal()}
    try:
        return activate_action(work, _ALARM, given, _SYSTEM)
    except RefusedCallError as error:
        if error.is_gone:
            return None
        raise
