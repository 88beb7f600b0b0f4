"""Schedules on DigitalOcean: a trigger per schedule, which calls one function in UTC."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.providers.cloud5.client import Cloud5Api
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.whisk.client import WhiskWork
from fabric.providers.whisk.events import WhiskClock
from fabric.providers.whisk.functions import foreign_resource_problem


class _ScheduledRow(Struct, frozen=True):
    name: str
    function: str = ""


class _ScheduledPage(Struct, frozen=True):
    triggers: tuple[_ScheduledRow, ...] = ()


class _ScheduledAnswer(Struct, frozen=True):
    trigger: _ScheduledRow


class Cloud5Clocks(Struct, frozen=True):
    connect: Callable[[], Cloud5Api]

    def there(self, work: WhiskWork, package: str) -> Mapping[str, str]:
        """List existing schedules of the package. Both the name and the called action show the
        owner."""
        call = ProviderCall("GET", "/triggers")
        page = work.patient(lambda: self.connect().own(call, _ScheduledPage))
        begin = f"{package}/"
        return {
            one.name: one.function
            for one in page.triggers
            if one.function.startswith(begin) and one.name.startswith(f"{package}-")
        }

    def set(self, work: WhiskWork, clock: WhiskClock) -> None:
        def act(_work: WhiskWork) -> None:
            row = self._fetch_trigger(clock.id)
            if row is not None and row.function != clock.function:
                raise FabricError(foreign_resource_problem("trigger", clock.id, clock.function))
            self.connect().own(_build_trigger_call(clock, is_new=row is None), object)

        work.trying(act)

    def _fetch_trigger(self, ident: str) -> _ScheduledRow | None:
        try:
            call = ProviderCall("GET", f"/triggers/{ident}")
            return self.connect().own(call, _ScheduledAnswer).trigger
        except RefusedCallError as error:
            if error.is_gone:
                return None
            raise

    def delete(self, work: WhiskWork, ident: str) -> None:
        call = ProviderCall("DELETE", f"/triggers/{ident}")
        with ignore_missing():
            work.patient(lambda: self.connect().own(call, object))


def _build_trigger_call(clock: WhiskClock, *, is_new: bool) -> ProviderCall:
    """Build the call for a trigger. Only schedule and payload can change; the name identifies the
    rest."""
    document = {
        "is_enabled": True,
        "scheduled_details": {"cron": clock.schedule, "body": clock.payload},
    }
    if not is_new:
        return build_json_call("PUT", f"/triggers/{clock.id}", document)
    own = {"name": clock.id, "function": clock.function, "type": "SCHEDULED"}
    return build_json_call("POST", "/triggers", {**own, **document})
