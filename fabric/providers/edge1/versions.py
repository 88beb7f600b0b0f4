"""Versions of Workers: list, upload and activate them."""

from msgspec import Struct, field

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.edge1.client import Owner, read_archive_hash, read_migration
from fabric.providers.edge1.uploads import Upload
from fabric.providers.edge1.work import Edge1Work

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

    @property
    def migration(self) -> str:
        return read_migration(self.annotations.get(_MESSAGE, ""))


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


def list_worker_versions(work: Edge1Work, name: str) -> tuple[VersionRow, ...] | None:
    """List deployable versions, newest first. None if the Worker does not exist."""
    found = work.look(_build_versions_call(work, name), _VersionList)
    return None if found is None else found.items


def _build_versions_call(work: Edge1Work, name: str) -> ProviderCall:
    return ProviderCall("GET", work.script(name, "/versions?deployable=true"))


def fetch_version(work: Edge1Work, name: str, ident: str) -> VersionRow | None:
    return work.look(ProviderCall("GET", work.script(name, f"/versions/{ident}")), VersionRow)


def upload_version(work: Edge1Work, name: str, upload: Upload) -> str:
    """Return the id of a matching version, existing or new.

    A version from a call with a lost response is found by the next try.
    """
    kind, content = upload.form()

    def act() -> str:
        there = work.look_once(_build_versions_call(work, name), _VersionList)
        found = _find_own_version(name, there.items, upload) if there else ""
        if found:
            return found
        if there is None:
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
    found = work.look(ProviderCall("GET", work.script(name, "/deployments")), _DeploymentList)
    shares = found.deployments[0].versions if found and found.deployments else ()
    newest = max(shares, key=lambda one: one.percentage, default=None)
    return newest.version_id if newest else ""


def activate_version(work: Edge1Work, name: str, ident: str) -> None:
    """Route all traffic to a version. Secret values are part of a version and are rolled back with
    it."""
    shares = [{"version_id": ident, "percentage": 100}]
    document = {"strategy": "percentage", "versions": shares}
    work.tell(build_json_call("POST", work.script(name, "/deployments?force=true"), document))
