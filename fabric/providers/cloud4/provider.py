"""Create the Alibaba Cloud deployer from the environment: access key, region and endpoint."""

import base64
import binascii
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from fabric.model.catalog import DeployUnit
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.providers.cloud4.client import (
    AccessKey,
    Cloud4Api,
    Cloud4Call,
    Cloud4Work,
    classify_refusal,
)
from fabric.providers.cloud4.events import ROUTE_TRIGGER, list_triggers
from fabric.providers.cloud4.functions import (
    ROUTE,
    deploy_function,
    find_function,
)
from fabric.providers.cloud4.limits import (
    find_setting_problems,
    find_unsupported,
    find_unsupported_region,
    region_problem,
)
from fabric.providers.cloud4.release import delete_functions, release_service
from fabric.providers.cloud4.settings import (
    LIVE,
    Cloud4Place,
    Cloud4Settings,
    build_function_name,
    read_place,
)
from fabric.providers.cloud4.versions import refuse_order
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    DeploymentAddress,
    FunctionAnswer,
    FunctionDraft,
    LiveFunction,
    LiveFunctions,
    Unsupported,
)
from fabric.providers.core.deployer import Operations, RegionalDeployer, deploy_one_by_one
from fabric.providers.core.errors import (
    convert_refusals,
    refuse_plain,
    refuse_unsendable,
    require_variables,
)
from fabric.providers.core.payloads import format_json
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.schedules import CLOCKS, parse_schedules
from fabric.providers.core.work import CallScope

_KEY, _SECRET, _REGION = "CLOUD4_ACCESS_KEY_ID", "CLOUD4_ACCESS_KEY_SECRET", "CLOUD4_REGION"
_ACCOUNT, _BASE_URL = "CLOUD4_ACCOUNT_ID", "CLOUD4_API_BASE_URL"


def _find_missing(work: Cloud4Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    texts = read_kept_texts(address).texts
    record = address.previous
    for function in record.functions if record else ():
        wanted = list(parse_schedules(texts.get(CLOCKS + function.name, "")))
        wanted += [ROUTE_TRIGGER] if texts.get(ROUTE + function.name) else []
        name = function.resource_name or build_function_name(address, function.name)
        there = {one.trigger_name for one in list_triggers(work, name)} if wanted else set()
        yield from (f"the trigger `{one}` of `{name}`" for one in wanted if one not in there)


def _fetch_identity(work: Cloud4Work) -> str:
    """Fetch the identity of the credentials and check read access to functions. Changes nothing."""
    work.ask(Cloud4Call("ListFunctions", "GET", query=(("limit", "1"),)), object)
    return f"the key {work.api.key.ident}, with read access to functions in `{work.place.region}`"


_BYTES = "application/octet-stream"
# A function may take so long; whoever waits can leave at any time.
_LONGEST = 900.0
_LOG, _FAULT = "x-fc-log-result", "x-fc-error-type"
_ASKED = (("x-fc-invocation-type", "Sync"), ("x-fc-log-type", "Tail"))


class _ThrownError(Struct, frozen=True, rename="camel"):
    error_message: str = ""
    error_type: str = ""


def _invoke_function(work: Cloud4Work, function: LiveFunction, event: bytes) -> FunctionAnswer:
    """Invoke once, without retries: a call with an unknown outcome possibly ran."""
    given: JsonObject = {"__fabric_event": msgspec.json.decode(event or b"null", type=Json)}
    call = Cloud4Call(
        action="InvokeFunction",
        method="POST",
        parts=(function.resource_name, "invocations"),
        query=(("qualifier", LIVE),),
        content=format_json(given).encode(),
        content_type=_BYTES,
        headers=_ASKED,
        seconds=_LONGEST,
    )
    began = time.perf_counter()
    reply = work.api.reply(call)
    ms = round((time.perf_counter() - began) * 1000)
    logs = _decode_lines(reply.headers.get(_LOG, ""))
    if reply.headers.get(_FAULT):
        return FunctionAnswer("", logs, ms, _read_failure(reply.content) or reply.headers[_FAULT])
    return FunctionAnswer(_read_response(reply.content), logs, ms)


def _read_response(content: bytes) -> str:
    said = _read(content)
    if isinstance(said, dict) and said.keys() == {"response"}:
        return format_json(said["response"])
    return content.decode(errors="replace")


def _read(content: bytes) -> Json:
    try:
        said: Json = msgspec.json.decode(content or b"null", type=Json)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return said


def _read_failure(content: bytes) -> str:
    try:
        said = msgspec.json.decode(content, type=_ThrownError)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return content.decode(errors="replace")
    return said.error_message or said.error_type


def _decode_lines(text: str) -> str:
    try:
        return base64.b64decode(text).decode(errors="replace")
    except binascii.Error:
        return ""


class Cloud4Functions(RegionalDeployer[Cloud4Work, Cloud4Place], frozen=True, kw_only=True):
    """The Alibaba Cloud deployer. `connect` returns the client of a region; `own` are the settings
    of this provider's config section."""

    unit: DeployUnit = DeployUnit.FUNCTION
    operations: Operations[Cloud4Work] = Operations(
        deploy=deploy_one_by_one(deploy_function),
        release=release_service,
        delete_functions=delete_functions,
        delete_service=delete_functions,
        find_active=find_function,
        find_by_mark=find_function,
        refuse_order=refuse_order,
        find_missing=_find_missing,
        fetch_identity=_fetch_identity,
        convert_errors=partial(convert_refusals, judged=classify_refusal),
    )
    connect: Callable[[str], Cloud4Api]
    own: Cloud4Settings
    read_place: Callable[[str], Cloud4Place | None] = read_place
    place_settings: str = "the region and `CLOUD4_ACCOUNT_ID`"

    def _open_work(self, scope: CallScope) -> Cloud4Work:
        place = self._choose_place(scope.address.region)
        if not place.is_sound:
            raise FabricError(region_problem(place.region))
        return Cloud4Work(api=self.connect(place.region), scope=scope, own=self.own, place=place)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return (
            *find_unsupported(address, functions, self.own),
            *find_setting_problems(self.own),
            *find_unsupported_region(self._choose_place(address.region).region),
        )

    def dissolve(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete the service. Without functions nothing exists, and its region is unknown."""
        if functions:
            super().dissolve(address, functions, watch)

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._call(f"function `{function.name}`", self._locate(address)) as work:
            return _invoke_function(work, function, event)


def open_cloud4_deployer(context: ProviderContext) -> Cloud4Functions:
    env = context.env
    return Cloud4Functions(
        connect=partial(_connect, context),
        own=context.read_settings(Cloud4Settings),
        place=Cloud4Place(env.get(_REGION, ""), env.get(_ACCOUNT, "")),
        hide=context.build_redaction(env.get(_SECRET, "")),
    )


def _connect(context: ProviderContext, region: str) -> Cloud4Api:
    """Connect and require credentials only here: settings can be checked without them."""
    env = context.env
    require_variables("cloud4-fc", {**env, _REGION: region}, (_KEY, _SECRET, _REGION))
    refuse_unsendable(_ACCOUNT, env.get(_ACCOUNT, ""))
    base_url = env.get(_BASE_URL) or f"https://fcv3.{region}.aliyuncs.com"
    refuse_plain(_BASE_URL, base_url)
    access = AccessKey(env[_KEY], Secret(env[_SECRET]))
    key = ("cloud4", base_url, access.ident, env[_SECRET])
    return context.connections.find_or_make(key, lambda: Cloud4Api(base_url, access))


PROVIDER = Provider(open_deployer=open_cloud4_deployer)
