"""Deployments of a Vercel project: find them by metadata, create and delete them."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from msgspec import Struct, field

from fabric.providers.core.errors import Judged, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.work import ApiWork
from fabric.providers.host1.client import Host1Api, MissingFilesError, classify_refusal, mark_in
from fabric.providers.host1.output import BuildFile, DesiredDeployment
from fabric.providers.host1.path_rules import PathRules

_PAGE = 100
_BYTES = "application/octet-stream"
_READY, _PROMOTED = "READY", "PROMOTED"
_FAILED = frozenset(("ERROR", "CANCELED", "BLOCKED", "DELETED"))


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
    def state_word(self) -> str:
        return self.ready_state.lower()

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


class Host1Work(ApiWork[Host1Api], frozen=True, kw_only=True):
    title: str = "Vercel"
    rules: PathRules = PathRules()
    judged: Judged = classify_refusal

    @property
    def project(self) -> str:
        return self.api.account.project


def fetch_deployment(work: Host1Work, name: str) -> HostDeploymentRow | None:
    """Fetch a deployment by id, or by a domain that points to it."""
    return work.look(build_fetch_call(work, name), HostDeploymentRow)


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


def delete_deployment(work: Host1Work, ident: str) -> None:
    path = work.api.account.path(f"/v13/deployments/{quote(ident, safe='')}")
    with ignore_missing():
        work.ask(ProviderCall("DELETE", path), object)
