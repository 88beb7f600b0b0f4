"""Create the DigitalOcean deployer from the environment: namespace and token."""

import base64
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.core.errors import (
    RefusedCallError,
    ignore_missing,
    refuse_plain,
    require_variables,
)
from fabric.providers.core.http_calls import (
    ProviderCall,
    build_json_call,
    decode_reply,
    send_with_login,
)
from fabric.providers.core.ownership import foreign_resource_problem
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.sources import SourceRuntimes
from fabric.providers.whisk.client import (
    WhiskApi,
    WhiskDoor,
    WhiskPlace,
    build_refusal_classifier,
    refuse_ways_out,
)
from fabric.providers.whisk.deployer import WhiskFunctions, build_operations
from fabric.providers.whisk.documents import find_whisk_runtime
from fabric.providers.whisk.work import WhiskClock, WhiskProvider, WhiskWork
from fabric.system.http.http_client import Http
from fabric.system.http.urls import is_plain

T = TypeVar("T")
_NAMESPACES_PATH = "/v2/functions/namespaces"
_GONE, _LOGIN = 404, 401
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


class Cloud5Account(Struct, frozen=True):
    """The account. If `api_host` is set, it replaces the host of the namespace."""

    base_url: str
    token: Secret[str]
    namespace: str
    api_host: str = ""


class _NamespaceRow(Struct, frozen=True):
    namespace: str
    api_host: str
    uuid: str
    key: str


class _NamespaceAnswer(Struct, frozen=True):
    namespace: _NamespaceRow


class _Cloud5Refusal(Struct, frozen=True):
    id: str = ""
    message: str = ""


class Cloud5Api(WhiskApi):
    def __init__(self, account: Cloud5Account, http: Http | None = None) -> None:
        super().__init__("cloud5-functions", self._fetch_door, http)
        self._account = account

    def own(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call whose path is relative to the namespace."""
        return self._send_namespace_call(self.http, call, kind)

    def _send_namespace_call(self, http: Http, call: ProviderCall, kind: type[T]) -> T:
        account = self._account
        path = f"{_NAMESPACES_PATH}/{quote(account.namespace, safe='')}{call.path}"
        asked = ProviderCall(call.method, path, call.content, call.content_type)
        login = Secret(f"Bearer {account.token.reveal()}")
        reply = send_with_login(http, account.base_url, login, asked)
        if reply.ok:
            return decode_reply(asked, replace(reply, content=reply.content or b"null"), kind)
        said = decode_reply(asked, reply, _Cloud5Refusal)
        raise RefusedCallError(reply.status, said.message or said.id, asked.title)

    def _fetch_door(self, http: Http) -> WhiskDoor:
        try:
            row = self._send_namespace_call(
                http, ProviderCall("GET", ""), _NamespaceAnswer
            ).namespace
        except RefusedCallError as error:
            if error.status == _GONE:
                raise RefusedCallError(_LOGIN, error.words, error.call) from error
            raise
        said = self._account.api_host or row.api_host
        url = said if "://" in said else f"https://{said}"
        if is_plain(url):
            message = f"the namespace host `{url}` uses plain HTTP, which would expose the key"
            raise FabricError(Problem("credentials/plain-endpoint", message))
        key = f"{row.uuid}:{row.key}"
        login = base64.b64encode(key.encode()).decode()
        return WhiskDoor(url, row.namespace, Secret(f"Basic {login}"), Secret(row.key))


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
