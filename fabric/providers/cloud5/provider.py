"""Create the DigitalOcean deployer from the environment: namespace and token."""

from collections.abc import Callable, Mapping
from functools import partial

from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.model.secret import Secret
from fabric.providers.cloud5.client import Cloud5Account, Cloud5Api
from fabric.providers.core.errors import (
    RefusedCallError,
    ignore_missing,
    refuse_plain,
    require_variables,
)
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.ownership import foreign_resource_problem
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.sources import SourceRuntimes
from fabric.providers.whisk.client import (
    WhiskPlace,
    build_refusal_classifier,
    refuse_ways_out,
)
from fabric.providers.whisk.deployer import WhiskFunctions, build_operations
from fabric.providers.whisk.documents import find_whisk_runtime
from fabric.providers.whisk.work import WhiskClock, WhiskProvider, WhiskWork

_ID, _OFFICIAL = "cloud5-functions", "https://api.digitalocean.com"
_TOKEN, _NAMESPACE = "CLOUD5_ACCESS_TOKEN", "CLOUD5_NAMESPACE"
_HOST, _BASE_URL = "CLOUD5_API_HOST", "CLOUD5_API_BASE_URL"
_RUNTIMES = SourceRuntimes(
    "DigitalOcean",
    "use nodejs18.x, nodejs22.x, nodejs24.x, python3.9, or python3.11 to python3.13",
    partial(
        find_whisk_runtime,
        nodejs=("18", "22", "24"),
        python=("3.9", "3.11", "3.12", "3.13"),
    ),
)
_JUDGED = build_refusal_classifier(
    "cloud5",
    f"check `{_TOKEN}`, and that `{_NAMESPACE}` is the ID of a namespace that it can access",
    f"check that `{_TOKEN}` has permission to read and change functions",
)


def open_cloud5_deployer(context: ProviderContext) -> WhiskFunctions:
    env = context.env
    connect = partial(context.connect, _read_account, Cloud5Api)
    provider = WhiskProvider(
        id=_ID,
        name="DigitalOcean",
        runtimes=_RUNTIMES,
        has_zones=False,
        judged=_JUDGED,
        clocks=Cloud5Clocks(connect),
    )
    return WhiskFunctions(
        operations=build_operations(_JUDGED),
        hide=context.build_redaction(env.get(_TOKEN, "")),
        provider=provider,
        connect=connect,
        place=WhiskPlace(env.get(_NAMESPACE, "")),
    )


def _read_account(env: Mapping[str, str]) -> Cloud5Account:
    require_variables(_ID, env, (_TOKEN, _NAMESPACE))
    refuse_ways_out(_NAMESPACE, env[_NAMESPACE])
    refuse_plain(_BASE_URL, env.get(_BASE_URL, ""))
    host = env.get(_HOST, "")
    # It may be named without its scheme.
    refuse_plain(_HOST, host if "://" in host or not host else f"https://{host}")
    base_url = env.get(_BASE_URL) or _OFFICIAL
    return Cloud5Account(base_url, Secret(env[_TOKEN]), env[_NAMESPACE], env.get(_HOST, ""))


PROVIDER = Provider(open_deployer=open_cloud5_deployer)


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
