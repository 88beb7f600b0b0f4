"""Create the IBM Cloud deployer from the environment: OpenWhisk installation and key."""

import base64
from collections.abc import Iterator, Mapping
from functools import partial

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.routing.hosts import extract_host, is_name_in_host
from fabric.model.secrets.secret import Secret
from fabric.providers.core.errors import (
    RefusedCallError,
    ignore_missing,
    refuse_other_host,
    refuse_plain,
    require_variables,
)
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.ownership import foreign_resource_problem
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.sources import SourceRuntimes
from fabric.providers.whisk.client import (
    WhiskAnnotation,
    WhiskApi,
    WhiskDoor,
    WhiskPlace,
    build_annotations,
    build_refusal_classifier,
    read_annotation,
    refuse_ways_out,
)
from fabric.providers.whisk.deployer import (
    Activation,
    WhiskFunctions,
    activate_action,
    build_operations,
)
from fabric.providers.whisk.documents import find_whisk_runtime
from fabric.providers.whisk.work import WhiskClock, WhiskProvider, WhiskWork

_ID = "cloud6-functions"
_KEY, _REGION, _NAMESPACE = "CLOUD6_API_KEY", "CLOUD6_REGION", "CLOUD6_NAMESPACE"
_HOST, _BASE_URL = "CLOUD6_API_HOST", "CLOUD6_API_BASE_URL"
_RUNTIMES = SourceRuntimes(
    "OpenWhisk",
    "use nodejs18.x to nodejs24.x, or python3.9 to python3.14, as far as your OpenWhisk "
    "installation supports them",
    partial(
        find_whisk_runtime,
        nodejs=("18", "20", "22", "24"),
        python=("3.9", "3.10", "3.11", "3.12", "3.13", "3.14"),
    ),
)
_JUDGED = build_refusal_classifier(
    "cloud6",
    f"check `{_KEY}`, which has the form user:password",
    f"check `{_NAMESPACE}`: the key must belong to this namespace",
)


def open_cloud6_deployer(context: ProviderContext) -> WhiskFunctions:
    env = context.env
    hide = context.build_redaction(*_list_key_parts(env.get(_KEY, "")))
    provider = WhiskProvider(
        id=_ID,
        name="OpenWhisk",
        runtimes=_RUNTIMES,
        has_zones=True,
        judged=_JUDGED,
        clocks=Alarms(),
    )
    return WhiskFunctions(
        operations=build_operations(_JUDGED),
        hide=hide,
        provider=provider,
        connect=partial(context.connect, _read_door, _open_api),
        place=WhiskPlace(env.get(_NAMESPACE, ""), extract_host(_read_url(env))),
    )


def _open_api(door: WhiskDoor) -> WhiskApi:
    return WhiskApi(_ID, lambda _http: door)


def _list_key_parts(key: str) -> tuple[str, ...]:
    return (key, key.partition(":")[2])


def _read_url(env: Mapping[str, str]) -> str:
    """Return the URL; the variable can contain a host without a scheme."""
    said = env.get(_BASE_URL) or env.get(_HOST) or ""
    if not said:
        region = env.get(_REGION, "")
        return f"https://{region}.functions.cloud.ibm.com" if is_name_in_host(region) else ""
    return said if "://" in said else f"https://{said}"


def _read_door(env: Mapping[str, str]) -> WhiskDoor:
    require_variables(_ID, env, (_KEY, _REGION, _NAMESPACE), any_letters=(_NAMESPACE,))
    url = _read_url(env)
    if not url:
        refuse_other_host(_REGION, env[_REGION])
    key, namespace = env[_KEY], env[_NAMESPACE]
    if ":" not in key:
        message, hint = f"`{_KEY}` is not a valid OpenWhisk key", "use the form user:password"
        raise FabricError(Problem("credentials/unreadable", message, hint))
    refuse_ways_out(_NAMESPACE, namespace)
    if namespace == "_":
        message = f"`{_NAMESPACE}` is `_`, and function URLs require the real name"
        hint = "run: wsk namespace list"
        raise FabricError(Problem("credentials/unreadable", message, hint))
    refuse_plain(_BASE_URL if env.get(_BASE_URL) else _HOST, url)
    login = base64.b64encode(key.encode()).decode()
    return WhiskDoor(url, namespace, Secret(f"Basic {login}"), Secret(key))


PROVIDER = Provider(open_deployer=open_cloud6_deployer)


# Schedules with the alarm package of OpenWhisk: an alarm fires a trigger, and a rule calls the
# action.


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
            row = work.look(ProviderCall("GET", f"/triggers/{clock.id}"), _AlarmedRow)
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
    if work.look(ProviderCall("GET", f"/rules/{clock.id}"), object) is None:
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
