"""Deployments of a Vercel project: find them by metadata, create and delete them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import CallContext
from fabric.providers.core.errors import (
    Quoted,
    RefusedCallError,
    convert_refusals,
    format_generic_hint,
    ignore_missing,
)
from fabric.providers.core.http_calls import ProviderCall, build_json_call, retry_transient
from fabric.providers.core.retry import WAITING, RetryPolicy, poll_until, run_parallel
from fabric.providers.host1.client import Host1Api, MissingFilesError, classify_refusal, mark_in
from fabric.providers.host1.output import BuildFile, DesiredDeployment

T = TypeVar("T")
_PAGE = 100
_BYTES = "application/octet-stream"
_READY, _PROMOTED = "READY", "PROMOTED"
_FAILED = frozenset(("ERROR", "CANCELED", "BLOCKED", "DELETED"))
# A deployment is made ready by others, in their own time: it is waited for longer.
_LONGER = 10


class HostDeploymentRow(Struct, frozen=True, rename="camel"):
    """A deployment. Lists name its id `uid`, other responses `id`."""

    id: str = ""
    uid: str = ""
    ready_state: str = ""
    ready_substate: str | None = None
    meta: dict[str, str] = field(default_factory=dict)
    error_message: str | None = None

    @property
    def ident(self) -> str:
        return self.id or self.uid

    @property
    def is_ready(self) -> bool:
        return self.ready_state == _READY

    @property
    def is_failed(self) -> bool:
        return self.ready_state in _FAILED

    @property
    def was_met(self) -> bool:
        """Whether it receives or has received production traffic."""
        return self.ready_substate == _PROMOTED


class _Pages(Struct, frozen=True):
    next: int | None = None


class _DeploymentPage(Struct, frozen=True):
    deployments: tuple[HostDeploymentRow, ...] = ()
    pagination: _Pages = _Pages()


class Host1Work(Struct, frozen=True):
    """The context of every call: client, watch, redaction and waiting limits."""

    api: Host1Api
    watch: CallContext
    quoted: Quoted
    waiting: RetryPolicy = WAITING

    @property
    def project(self) -> str:
        return self.api.account.project

    def ask(self, call: ProviderCall, kind: type[T]) -> T:
        """Make an idempotent call, with retries."""
        return self.patient(lambda: self.api.once(call, kind))

    def convert_errors(self, whose: str) -> AbstractContextManager[None]:
        """Convert errors inside to problems of this resource."""
        return convert_refusals(whose, self.quoted, classify_refusal)

    def patient(self, act: Callable[[], T]) -> T:
        return retry_transient(act, "Vercel", self.waiting, self.watch)


def fetch_deployment(work: Host1Work, name: str) -> HostDeploymentRow | None:
    """Fetch a deployment by id, or by a domain that points to it."""
    try:
        return work.ask(build_fetch_call(work, name), HostDeploymentRow)
    except RefusedCallError as error:
        if error.is_gone:
            return None
        raise


def build_fetch_call(work: Host1Work, name: str) -> ProviderCall:
    path = f"/v13/deployments/{quote(name, safe='')}"
    return ProviderCall("GET", work.api.account.path(path))


def list_deployments(work: Host1Work) -> Iterator[HostDeploymentRow]:
    """Yield all deployments, newest first."""
    page = _fetch_page(work)
    yield from page.deployments
    while page.pagination.next and page.deployments:
        page = _fetch_page(work, page.pagination.next)
        yield from page.deployments


def list_newest_deployments(work: Host1Work) -> tuple[HostDeploymentRow, ...]:
    """Return the newest deployments, as many as one call returns."""
    return _fetch_page(work).deployments


def _fetch_page(work: Host1Work, before: int = 0) -> _DeploymentPage:
    return work.patient(lambda: _fetch_page_once(work, before))


def _fetch_page_once(work: Host1Work, before: int = 0) -> _DeploymentPage:
    query = {"projectId": work.project, "target": "production", "limit": str(_PAGE)}
    if before:
        query["until"] = str(before)
    path = work.api.account.path("/v7/deployments", query)
    return work.api.once(ProviderCall("GET", path), _DeploymentPage)


def find_matching_deployment(
    wanted: DesiredDeployment, rows: Iterable[HostDeploymentRow]
) -> HostDeploymentRow | None:
    return next((one for one in rows if is_met_by(wanted, one)), None)


def is_met_by(wanted: DesiredDeployment, row: HostDeploymentRow) -> bool:
    is_own = wanted.owner.is_of(row.meta) and mark_in(row.meta) == wanted.mark
    return is_own and not row.is_failed


def create_deployment(work: Host1Work, wanted: DesiredDeployment, name: str) -> HostDeploymentRow:
    """Return a deployment with this mark, existing or new, and upload requested files.

    A deployment from a call with a lost response is among the newest, so the next try finds it.
    """
    query = {"forceNew": "1", "prebuilt": "1", "skipAutoDetectionConfirmation": "1"}
    path = work.api.account.path("/v13/deployments", query)
    call = build_json_call("POST", path, wanted.document(work.project, name))

    def act() -> HostDeploymentRow:
        found = find_matching_deployment(wanted, _fetch_page_once(work).deployments)
        return found or work.api.once(call, HostDeploymentRow)

    try:
        return work.patient(act)
    except MissingFilesError as error:
        _bring(work, [one for one in wanted.files if one.sha1 in error.digests])
    return work.patient(act)


def _bring(work: Host1Work, files: Sequence[BuildFile]) -> None:
    once = {one.sha1: one for one in files}
    run_parallel(lambda one: _bring_one(work, one), tuple(once.values()))


def _bring_one(work: Host1Work, file: BuildFile) -> None:
    path = work.api.account.path("/v2/files")
    headers = (("x-vercel-digest", file.sha1),)
    with work.convert_errors(f"the file `{file.path}`"):
        work.ask(ProviderCall("POST", path, file.content, _BYTES, headers), object)


def wait_until_deployed(work: Host1Work, row: HostDeploymentRow) -> None:
    """Wait until Vercel has processed all uploads."""
    seen = row.ready_state

    def look() -> HostDeploymentRow | None:
        nonlocal seen
        found = work.ask(build_fetch_call(work, row.ident), HostDeploymentRow)
        if found.ready_state != seen:
            work.watch.hear(f"the deployment {row.ident} is {found.ready_state.lower()}")
            seen = found.ready_state
        return found if found.is_failed or found.is_ready else None

    if not row.is_ready:
        work.watch.hear(f"waiting until the deployment {row.ident} is ready")
    longer = replace(work.waiting, most=work.waiting.most * _LONGER)
    found = row if row.is_ready else poll_until(look, longer, work.watch)
    if found is None:
        message = (
            f"timeout: the deployment {row.ident} is still {seen.lower()} after {longer.most:.0f} s"
        )
        hint = "check it in the Vercel dashboard, then run the command again to continue"
        raise FabricError(Problem("provider/not-ready", message, hint))
    if found.is_failed:
        said = work.quoted(found.error_message or found.ready_state.lower())
        message = f"the deployment {row.ident} failed: {said}"
        raise FabricError(Problem("provider/refused", message, format_generic_hint("Vercel")))


def delete_deployment(work: Host1Work, ident: str) -> None:
    path = work.api.account.path(f"/v13/deployments/{quote(ident, safe='')}")
    with ignore_missing():
        work.ask(ProviderCall("DELETE", path), object)
