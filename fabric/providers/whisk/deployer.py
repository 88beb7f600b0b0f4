"""The built-in deployer for OpenWhisk namespaces: an action per version, and an active one per
function."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from fabric.model.catalog import DeployUnit
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.providers.core.contract import (
    DeploymentAddress,
    FunctionAnswer,
    FunctionDraft,
    LiveFunction,
    Unsupported,
)
from fabric.providers.core.deployer import Operations, VersionedDeployer, deploy_one_by_one
from fabric.providers.core.errors import Judged, convert_refusals
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.payloads import format_json
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.retry import RetryPolicy, poll_until
from fabric.providers.core.schedules import list_stored_schedules
from fabric.providers.core.triggers import list_public_functions
from fabric.providers.core.work import CallScope
from fabric.providers.whisk.client import (
    WhiskApi,
    WhiskPlace,
    find_place_conflict,
    package_name,
)
from fabric.providers.whisk.functions import deploy_function, find_active_version, find_by_mark
from fabric.providers.whisk.limits import find_unsupported
from fabric.providers.whisk.release import delete_functions, delete_service, release_service
from fabric.providers.whisk.work import EVENT, WhiskProvider, WhiskWork


class WhiskFunctions(VersionedDeployer[WhiskWork], frozen=True, kw_only=True):
    """The OpenWhisk deployer. `connect` returns the client."""

    unit: DeployUnit = DeployUnit.FUNCTION
    provider: WhiskProvider
    connect: Callable[[], WhiskApi]
    # Comes from the environment.
    place: WhiskPlace

    def _open_work(self, scope: CallScope) -> WhiskWork:
        return WhiskWork(
            api=self.connect(),
            scope=scope,
            title=self.provider.name,
            judged=self.provider.judged,
            place=self.place,
            provider=self.provider,
        )

    def elsewhere(self, record: Record) -> Problem | None:
        return find_place_conflict(record, self.place)

    def public(self, functions: Sequence[FunctionDraft]) -> Sequence[str]:
        return list_public_functions(functions)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(address, functions, self.provider))

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._call(f"function `{function.name}`", address) as work:
            return _invoke_function(work, function, event)


def build_operations(judged: Judged) -> Operations[WhiskWork]:
    return Operations(
        deploy=deploy_one_by_one(deploy_function),
        release=release_service,
        delete_functions=delete_functions,
        delete_service=lambda work, address, _: delete_service(work, address),
        find_active=find_active_version,
        find_by_mark=find_by_mark,
        find_missing=_find_missing,
        fetch_identity=_fetch_identity,
        convert_errors=partial(convert_refusals, judged=judged),
    )


def _find_missing(work: WhiskWork, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    texts = read_kept_texts(address).texts
    wanted = list_stored_schedules(texts)
    there = work.provider.clocks.there(work, package_name(address)) if wanted else {}
    yield from (f"the trigger `{ident}`" for ident in wanted if ident not in there)


def _fetch_identity(work: WhiskWork) -> str:
    work.ask(ProviderCall("GET", "/packages?limit=1"), object)
    host = work.api.door.base_url.partition("://")[2]
    return f"a key with read access to packages of `{work.place.namespace}` at {host}"


# A function may take so long, and a record of it comes a moment later.
_CALLING = RetryPolicy(base=0.1, cap=2.0, most=930.0)
_TO_TELL = RetryPolicy(base=0.1, cap=1.0, most=3.0)


class _Begun(Struct, frozen=True, rename="camel"):
    activation_id: str


class _Result(Struct, frozen=True):
    success: bool = False
    status: str = ""
    result: Json = None


class Activation(Struct, frozen=True, rename="camel"):
    """The result of an invocation."""

    activation_id: str
    response: _Result = _Result()
    # Lines; for a sequence, they are ids of its invocations.
    logs: tuple[str, ...] = ()
    duration: int = 0

    @property
    def answer(self) -> Json:
        return self.response.result

    @property
    def failure(self) -> str:
        """The error message; empty if it succeeded."""
        if self.response.success:
            return ""
        said = self.answer
        error = said.get("error", said) if isinstance(said, dict) else said
        return error if isinstance(error, str) else format_json(error)


def activate_action(
    work: WhiskWork, path: str, parameters: JsonObject, namespace: str = ""
) -> Activation:
    call = build_json_call("POST", f"/actions/{path}?blocking=false", parameters)
    begun = work.api.once(call, _Begun, namespace)
    found = poll_until(lambda: _fetch_activation(work, begun.activation_id), _CALLING, work.watch)
    if found is None:
        message = f"timeout: `{path}` did not end within {_CALLING.most:.0f} s"
        hint = "check its activations, then run the command again: it might still end"
        raise FabricError(Problem("provider/not-ready", message, hint))
    return found


def _fetch_activation(work: WhiskWork, ident: str) -> Activation | None:
    return work.look(ProviderCall("GET", f"/activations/{ident}"), Activation)


def _invoke_function(work: WhiskWork, function: LiveFunction, event: bytes) -> FunctionAnswer:
    began = time.perf_counter()
    parameters: JsonObject = {EVENT: msgspec.json.decode(event or b"null", type=Json)}
    ended = activate_action(work, function.resource_name, parameters)
    ms = round((time.perf_counter() - began) * 1000)
    said = ended.answer
    response = said.get("response") if isinstance(said, dict) else said
    return FunctionAnswer(format_json(response), _fetch_lines(work, ended), ms, ended.failure)


def _fetch_lines(work: WhiskWork, ended: Activation) -> str:
    """Fetch the log of the version that the sequence called; each line has time and stream."""
    if not ended.logs:
        return ""
    called = poll_until(lambda: _fetch_activation(work, ended.logs[0]), _TO_TELL, work.watch)
    lines = called.logs if called else ()
    return "".join(f"{line.partition(': ')[2] or line}\n" for line in lines)
