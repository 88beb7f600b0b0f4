"""Changes of resources, publications and starts of hosts, which Azure completes later."""

from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud3.client import (
    Cloud3Call,
    Cloud3Work,
    HostCall,
    build_web_call,
)
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.http_calls import decode_reply
from fabric.providers.core.whole_service import wait_until_ready
from fabric.system.http.http_client import HttpReply
from fabric.system.retry import TransientError

_WORDS = {"Succeeded": "ready", "InProgress": "in progress"}
_SUCCEEDED, _FAILED = "Succeeded", frozenset(("Failed", "Canceled"))
# The states of a deployment at the publishing host.
_DONE, _BROKEN = 4, frozenset((-1, 3, 5, 6))
_STATES = {
    -1: "cancelled",
    0: "pending",
    1: "building",
    2: "deploying",
    3: "failed",
    4: "published",
    5: "in conflict",
    6: "partly published",
}
_RUNNING, _ERROR = "Running", "Error"
_CONFLICT = 409
# The answers of a host that starts.
_NOT_YET = frozenset((401, 403, 404))
_ZIP = "application/zip"


class OperationRow(Struct, frozen=True, kw_only=True):
    """The state of an operation, a deployment or a host."""

    ident: str
    state_word: str
    is_ready: bool = False
    is_failed: bool = False
    error_message: str | None = None


def change(work: Cloud3Work, call: Cloud3Call, kind: str, name: str) -> None:
    """Make an idempotent change, and wait until Azure has completed it."""
    with work.convert_errors(f"the {kind} `{name}`"):
        make_change(work, call, kind, name)


def make_change(work: Cloud3Work, call: Cloud3Call, kind: str, name: str) -> None:
    reply = work.patient(lambda: work.api.reply_once(call))
    address = _find_operation(work, reply)
    if address:
        fetch = Cloud3Call("GET", address)
        row = OperationRow(ident=name, state_word="accepted")
        wait_until_ready(work, row, kind, lambda: _fetch_operation(work, fetch, name))


def _find_operation(work: Cloud3Work, reply: HttpReply) -> str:
    """Return the path of the operation of a response. Another host gets no token."""
    base = work.account.base_url.rstrip("/")
    for name in ("azure-asyncoperation", "location"):
        address = reply.headers.get(name, "")
        if address.startswith(f"{base}/"):
            return address.removeprefix(base)
    return ""


def _fetch_operation(work: Cloud3Work, call: Cloud3Call, name: str) -> OperationRow:
    reply = work.patient(lambda: work.api.reply_once(call))
    is_over = reply.status not in (201, 202)
    found = decode_reply(call, reply, _Failing) if reply.content else _Failing()
    status = found.status or (_SUCCEEDED if is_over else "InProgress")
    return OperationRow(
        ident=name,
        state_word=_WORDS.get(status, status.lower()),
        is_ready=status == _SUCCEEDED,
        is_failed=status in _FAILED,
        error_message=found.error.message if found.error else None,
    )


class _FaultRow(Struct, frozen=True):
    message: str | None = None


class _Failing(Struct, frozen=True):
    status: str = ""
    error: _FaultRow | None = None


class _Deployment(Struct, frozen=True):
    id: str = ""
    status: int = 0
    status_text: str | None = None
    message: str | None = None


def publish(work: Cloud3Work, host: str, ident: str, content: bytes) -> None:
    """Publish a package and wait for its deployment. Publishing a package again changes nothing."""
    if not host:
        message = f"the function app `{work.app}` has no publishing host"
        hint = "check in the Azure portal that the app is running"
        raise FabricError(Problem("provider/refused", message, hint))
    base = work.account.sites.replace("{host}", host)
    path = "/api/publish?RemoteBuild=false&Deployer=fabric"
    call = Cloud3Call("POST", path, content, _ZIP, base_url=base)
    deployment = _start_publishing(work, call)
    work.watch.hear(f"publishing the version {ident} to {work.app}")
    fetch = Cloud3Call("GET", f"/api/deployments/{quote(deployment, safe='')}", base_url=base)
    row = OperationRow(ident=ident, state_word="pending")
    wait_until_ready(work, row, "version", lambda: _fetch_deployment(work, fetch, ident))


def _start_publishing(work: Cloud3Work, call: Cloud3Call) -> str:
    """Start a deployment. A running deployment, such as that of an interrupted run, is awaited
    first."""
    try:
        return work.ask(call, str)
    except RefusedCallError as error:
        if error.status != _CONFLICT:
            raise
    latest = Cloud3Call("GET", "/api/deployments/latest", base_url=call.base_url)

    def fetch() -> OperationRow:
        found = _fetch_deployment(work, latest, work.app)
        return replace(found, is_ready=found.is_ready or found.is_failed, is_failed=False)

    row = OperationRow(ident=work.app, state_word="running")
    wait_until_ready(work, row, "other deployment of", fetch)
    return work.patient(lambda: _try_publishing(work, call))


def _try_publishing(work: Cloud3Work, call: Cloud3Call) -> str:
    try:
        return work.send(call, str)
    except RefusedCallError as error:
        if error.status == _CONFLICT:
            raise TransientError("another deployment of the app is running") from error
        raise


def _fetch_deployment(work: Cloud3Work, call: Cloud3Call, ident: str) -> OperationRow:
    """Fetch the state of a deployment. It can be missing at first, and after a restart of the
    publishing host: neither proves its end."""
    found = work.look(call, _Deployment)
    if found is None:
        return OperationRow(ident=ident, state_word="accepted")
    return OperationRow(
        ident=ident,
        state_word=_STATES.get(found.status, str(found.status)),
        is_ready=found.status == _DONE,
        is_failed=found.status in _BROKEN,
        error_message=found.status_text or found.message,
    )


class _HostKeys(Struct, frozen=True, rename="camel"):
    master_key: str = ""


class _HostStatus(Struct, frozen=True):
    state: str = ""
    errors: tuple[str, ...] | None = None


def await_host(work: Cloud3Work, host: str) -> None:
    """Wait until the host of the functions runs. A new app knows its key only after a while."""
    list_keys = build_web_call("POST", work.site("/host/default/listkeys"))
    base = work.account.sites.replace("{host}", host)
    starting = OperationRow(ident=work.app, state_word="starting")

    def fetch() -> OperationRow:
        headers = (("x-functions-key", work.ask(list_keys, _HostKeys).master_key),)
        call = HostCall("GET", "/admin/host/status", headers=headers, base_url=base)
        try:
            found = work.ask(call, _HostStatus)
        except RefusedCallError as error:
            if error.status in _NOT_YET:
                return starting
            raise
        return OperationRow(
            ident=work.app,
            state_word=found.state.lower() or "starting",
            is_ready=found.state == _RUNNING,
            is_failed=found.state == _ERROR,
            error_message="; ".join(found.errors or ()) or None,
        )

    wait_until_ready(work, starting, "host of", fetch)
