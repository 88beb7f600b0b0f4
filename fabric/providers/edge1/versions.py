"""Workers and their versions: find them by owner, upload them, and route traffic to them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct, field

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import CallContext, LiveFunction
from fabric.providers.core.errors import Quoted, RefusedCallError, convert_refusals
from fabric.providers.core.http_calls import ProviderCall, build_json_call, retry_transient
from fabric.providers.core.retry import WAITING, RetryPolicy
from fabric.providers.edge1.api import Edge1Api
from fabric.providers.edge1.refusals import classify_refusal
from fabric.providers.edge1.settings import (
    Edge1Settings,
    Owner,
    format_worker_version_id,
    read_archive_hash,
)
from fabric.providers.edge1.uploads import Upload

T = TypeVar("T")
_TAG, _MESSAGE = "workers/tag", "workers/message"


class VersionRow(Struct, frozen=True):
    id: str
    annotations: dict[str, str] = field(default_factory=dict)

    @property
    def tag(self) -> str:
        return self.annotations.get(_TAG, "")

    @property
    def archive(self) -> str:
        return read_archive_hash(self.annotations.get(_MESSAGE, ""))


class _VersionList(Struct, frozen=True):
    items: tuple[VersionRow, ...] = ()


class _Uploaded(Struct, frozen=True):
    """The response to a new Worker, with the id of its first version."""

    deployment_id: str


class _VersionShare(Struct, frozen=True):
    version_id: str
    percentage: float


class _DeploymentRow(Struct, frozen=True):
    versions: tuple[_VersionShare, ...] = ()


class _DeploymentList(Struct, frozen=True):
    deployments: tuple[_DeploymentRow, ...] = ()


class Edge1Work(Struct, frozen=True):
    """The context of every call: client, provider settings, redaction and waiting limits."""

    api: Edge1Api
    own: Edge1Settings
    watch: CallContext
    quoted: Quoted
    waiting: RetryPolicy = WAITING

    @property
    def workers(self) -> str:
        return f"/accounts/{quote(self.api.account.account, safe='')}/workers"

    def script(self, name: str, rest: str = "") -> str:
        return f"{self.workers}/scripts/{name}{rest}"

    def ask(self, call: ProviderCall, kind: type[T]) -> T:
        """Make an idempotent call, with retries."""
        return self.patient(lambda: self.api.once(call, kind))

    def tell(self, call: ProviderCall) -> None:
        self.ask(call, object)

    def convert_errors(self, whose: str) -> AbstractContextManager[None]:
        """Convert errors inside to problems of this resource."""
        return convert_refusals(whose, self.quoted, classify_refusal)

    def patient(self, act: Callable[[], T]) -> T:
        return retry_transient(act, "Cloudflare", self.waiting, self.watch, self.api.rate.pause)


def build_routes_path(zone: str) -> str:
    return f"/zones/{quote(zone, safe='')}/workers/routes"


def list_worker_versions(work: Edge1Work, name: str) -> tuple[VersionRow, ...] | None:
    """List deployable versions, newest first. None if the Worker does not exist."""
    return work.patient(lambda: _fetch_versions(work, name))


def _fetch_versions(work: Edge1Work, name: str) -> tuple[VersionRow, ...] | None:
    call = ProviderCall("GET", work.script(name, "/versions?deployable=true"))
    try:
        return work.api.once(call, _VersionList).items
    except RefusedCallError as error:
        if error.is_gone:
            return None
        raise


def fetch_version(work: Edge1Work, name: str, ident: str) -> VersionRow | None:
    try:
        return work.ask(ProviderCall("GET", work.script(name, f"/versions/{ident}")), VersionRow)
    except RefusedCallError as error:
        if error.is_gone:
            return None
        raise


def upload_version(work: Edge1Work, name: str, upload: Upload) -> str:
    """Return the id of a matching version, existing or new.

    A version from a call with a lost response is found by the next try.
    """
    kind, content = upload.form()

    def act() -> str:
        rows = _fetch_versions(work, name)
        found = _find_own_version(name, rows, upload) if rows is not None else ""
        if found:
            return found
        if rows is None:
            call = ProviderCall("PUT", work.script(name), content, kind)
            return work.api.once(call, _Uploaded).deployment_id
        call = ProviderCall("POST", work.script(name, "/versions"), content, kind)
        return work.api.once(call, VersionRow).id

    return work.patient(act)


def _find_own_version(name: str, rows: tuple[VersionRow, ...], upload: Upload) -> str:
    check_ownership(name, rows, upload.owner)
    return next((one.id for one in rows if one.tag == upload.tag), "")


def has_own(rows: tuple[VersionRow, ...], owner: Owner) -> bool:
    return any(owner.is_of(one.tag) for one in rows)


def check_ownership(name: str, rows: tuple[VersionRow, ...], owner: Owner) -> None:
    if has_own(rows, owner):
        return
    message = f"the Worker `{name}` already exists and does not belong to {owner.title}"
    hint = "delete or rename it manually, or rename the service; it was not changed"
    raise FabricError(Problem("deploy/foreign", message, hint))


def find_met_version(work: Edge1Work, name: str) -> str:
    """Return the id of the version with most of the traffic; empty without traffic."""
    call = ProviderCall("GET", work.script(name, "/deployments"))
    try:
        found = work.ask(call, _DeploymentList).deployments
    except RefusedCallError as error:
        if error.is_gone:
            return ""
        raise
    shares = found[0].versions if found else ()
    newest = max(shares, key=lambda one: one.percentage, default=None)
    return newest.version_id if newest else ""


def activate_version(work: Edge1Work, name: str, ident: str) -> None:
    """Route all traffic to a version. Secret values are part of a version and are rolled back with
    it."""
    shares = [{"version_id": ident, "percentage": 100}]
    document = {"strategy": "percentage", "versions": shares}
    work.tell(build_json_call("POST", work.script(name, "/deployments?force=true"), document))


def build_live_function(work: Edge1Work, name: str, row: VersionRow, owner: Owner) -> LiveFunction:
    return LiveFunction(
        owner.function,
        name,
        format_worker_version_id(work.api.account.account, name, row.id),
        artifact_sha256=row.archive,
        mark=owner.mark_in(row.tag),
    )
