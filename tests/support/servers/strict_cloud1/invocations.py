"""A call of one version: run for real, and written to the account's logs."""

import base64
import json
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from moto.logs.models import logs_backends

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.children import Children, Outcome
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import LATEST, Function, Reference, Version
from tests.support.servers.strict_cloud1.refusals import RefusalError, conflict
from tests.support.servers.strict_cloud1.telemetry import note_call

# How the token begins that a function's own calls carry, before the ARN of its role. They are not
# calls of the test.
ROLE_TOKEN = "of-a-function/"  # noqa: S105
_LARGEST_EVENT = 6 * 1024 * 1024
_SHOWN_OF_LOG = 4096


@dataclass(frozen=True)
class Called:
    body: bytes
    error: str
    version: str
    lines: list[str]

    @property
    def result(self) -> object:
        return json.loads(self.body)


def chosen(function: Function, qualifier: str) -> Version:
    """The version of the next call; one that is still being made cannot be called."""
    version = function.called(qualifier)
    progress = function.progress
    if progress.is_creation and version.number in progress.numbers and progress.look():
        raise conflict(
            "The operation cannot be performed at this time. The function is currently in the"
            " following state: Pending"
        )
    if function.reserved == 0:
        raise RefusalError(429, "TooManyRequestsException", "Rate Exceeded.")
    return version


def run(children: Children, region: Region, version: Version, event: object, arn: str) -> Called:
    request, begun = str(uuid.uuid4()), time.monotonic()
    settings = version.settings
    context = {
        "request": request,
        "name": version.name,
        "version": version.number,
        "arn": arn,
        "memory": settings["MemorySize"],
        "seconds": settings["Timeout"],
    }
    layers = [region.layers[one].content for one in settings.get("Layers", [])]
    line = {"event": event, "context": context}
    outcome = children.call(version, layers, _environment(region, version), line)
    body, error = _body(outcome, request, settings["Timeout"])
    moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z"  # noqa: TID251 - shown only
    told = [f"{moment}\t{request}\tERROR\tInvoke Error \t{body}"] if error else []
    printed = [*outcome.printed, *told]
    ms = (time.monotonic() - begun) * 1000
    lines = _framed(printed, request, version, ms)
    _log(region, version, lines)
    with region.account.log_turn:
        note_call(region, version.name, ms, failed=bool(error))
    return Called(body.encode(), error, version.number, lines)


def _environment(region: Region, version: Version) -> dict[str, str]:
    settings = version.settings
    return {
        "_HANDLER": version.handler,
        "AWS_REGION": region.name,
        "AWS_DEFAULT_REGION": region.name,
        "AWS_LAMBDA_FUNCTION_NAME": version.name,
        "AWS_LAMBDA_FUNCTION_VERSION": version.number,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(settings["MemorySize"]),
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{version.name}",
        "AWS_ENDPOINT_URL": region.server,
        "AWS_ACCESS_KEY_ID": region.account.key,
        "AWS_SECRET_ACCESS_KEY": "of-a-function",
        "AWS_SESSION_TOKEN": ROLE_TOKEN + settings["Role"],
        **settings.get("Environment", {}).get("Variables", {}),
    }


def _body(outcome: Outcome, request: str, seconds: int) -> tuple[str, str]:
    """The payload, and the kind of the error if it is one."""
    if outcome.answer is None:
        late = {"errorMessage": f"{request} Task timed out after {seconds:.2f} seconds"}
        died = {"errorType": "Runtime.ExitError", "errorMessage": "Runtime exited"}
        return json.dumps(late if outcome.is_late else died), "Unhandled"
    if "error" in outcome.answer:
        return json.dumps(outcome.answer["error"]), "Unhandled"
    return json.dumps(outcome.answer["result"]), ""


def _framed(printed: list[str], request: str, version: Version, ms: float) -> list[str]:
    return [
        f"START RequestId: {request} Version: {version.number}",
        *printed,
        f"END RequestId: {request}",
        f"REPORT RequestId: {request}\tDuration: {ms:.2f} ms\tBilled Duration: {int(ms) + 1} ms"
        f"\tMemory Size: {version.settings['MemorySize']} MB\tMax Memory Used: 64 MB",
    ]


def _log(region: Region, version: Version, lines: list[str]) -> None:
    logs = logs_backends[region.account.number][region.name]
    group = f"/aws/lambda/{version.name}"
    day = datetime.now(UTC)  # noqa: TID251 - shown only
    own = uuid.uuid5(uuid.NAMESPACE_URL, version.arn).hex
    stream = f"{day:%Y/%m/%d}/[{version.number}]{own}"
    with region.account.log_turn:
        if group not in logs.groups:
            logs.create_log_group(group, {})
        if stream not in logs.groups[group].streams:
            logs.create_log_stream(group, stream)
        now = time.time_ns() // 1_000_000
        events = [{"timestamp": now, "message": one} for one in lines]
        logs.put_log_events(group, stream, events)


def parsed(payload: bytes) -> object:
    if len(payload) > _LARGEST_EVENT:
        message = f"{len(payload)} byte payload is too large"
        raise RefusalError(413, "RequestTooLargeException", message)
    try:
        return json.loads(payload or b"null")
    except ValueError:
        message = "Could not parse request body into json"
        raise RefusalError(400, "InvalidRequestContentException", message) from None


def invocation(called: Called, *, with_log: bool) -> Fields:
    """The answer to Invoke."""
    tail = "\n".join(called.lines).encode()[-_SHOWN_OF_LOG:]
    return {
        "StatusCode": 200,
        "Payload": called.body,
        "ExecutedVersion": called.version,
        "FunctionError": called.error or None,
        "LogResult": base64.b64encode(tail).decode() if with_log else None,
    }


def arn_of(function: Function, reference: Reference) -> str:
    return function.arn(reference.qualifier if reference.qualifier != LATEST else "")
