"""Deploy functions to Cloudflare: a deploy uploads a Worker version; the release switches traffic
to it."""

from urllib.parse import quote

from msgspec import Struct, field

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import Judged, mark_untouched, refuse_without_version
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.sources import TOO_LARGE
from fabric.providers.core.work import ApiWork
from fabric.providers.edge1.client import (
    Edge1Api,
    Edge1Settings,
    Owner,
    build_worker_name,
    build_worker_owner,
    classify_refusal,
    format_worker_version_id,
    read_archive_hash,
    read_version,
)
from fabric.providers.edge1.uploads import Upload, build_function_upload, extend_mark

_VARIABLE_BYTES = 5 * 1024
_VARIABLES = 128


def refuse_variables(order: FunctionOrder) -> None:
    """Raise for unsupported variables before any API call: values are first known here."""
    pairs = order.env.reveal()
    large = sorted(name for name, text in pairs if len(text.encode()) > _VARIABLE_BYTES)
    problems = [
        Problem(
            "deploy/environment-too-large",
            f"function `{order.name}`: the variable `{name}` has more than {_VARIABLE_BYTES:,} "
            "bytes",
            "store large values in a file of the function: Cloudflare rejects larger variables",
        )
        for name in large
    ]
    if len(pairs) > _VARIABLES:
        why = f"has {len(pairs)} variables; Cloudflare allows {_VARIABLES}"
        message = f"function `{order.name}` {why}"
        problems.append(Problem("deploy/environment-too-large", message, TOO_LARGE))
    if problems:
        raise FabricError(*problems)


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


class Edge1Work(ApiWork[Edge1Api], frozen=True, kw_only=True):
    title: str = "Cloudflare"
    judged: Judged = classify_refusal
    own: Edge1Settings

    def measure_pause(self) -> float:
        return self.api.rate.pause()

    @property
    def workers(self) -> str:
        return f"/accounts/{quote(self.api.account.account, safe='')}/workers"

    def script(self, name: str, rest: str = "") -> str:
        return f"{self.workers}/scripts/{name}{rest}"

    def tell(self, call: ProviderCall) -> None:
        self.ask(call, object)


def deploy_function(
    work: Edge1Work, address: DeploymentAddress, order: FunctionOrder
) -> LiveFunction:
    name, owner = build_worker_name(address, order.name), build_worker_owner(address, order.name)
    ident = read_version(order.version)
    then = fetch_version(work, name, ident) if ident else None
    date = work.own.compatibility_date
    if then is None or then.tag != owner.tag(extend_mark(order.mark, date)):
        refuse_without_version(order)
        with mark_untouched():
            upload = build_function_upload(order, owner, date)
        ident = upload_version(work, name, upload)
    work.watch.hear(f"{order.name}: version {ident} is ready")
    return LiveFunction(
        order.name,
        name,
        format_worker_version_id(work.api.account.account, name, ident),
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )


def find_by_mark(
    work: Edge1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    name, owner = build_worker_name(address, function), build_worker_owner(address, function)
    rows = list_worker_versions(work, name) or ()
    tag = owner.tag(extend_mark(mark, work.own.compatibility_date))
    found = next((one for one in rows if one.tag == tag), None)
    return None if found is None else build_live_function(work, name, found, owner)


def find_active_version(
    work: Edge1Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the version that receives traffic. A Worker of another owner is treated as missing."""
    name, owner = build_worker_name(address, function), build_worker_owner(address, function)
    ident = find_met_version(work, name)
    found = fetch_version(work, name, ident) if ident else None
    if found is None:
        return None
    if not owner.is_of(found.tag):
        check_ownership(name, list_worker_versions(work, name) or (), owner)
    return build_live_function(work, name, found, owner)


def build_routes_path(zone: str) -> str:
    return f"/zones/{quote(zone, safe='')}/workers/routes"


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


def build_live_function(work: Edge1Work, name: str, row: VersionRow, owner: Owner) -> LiveFunction:
    return LiveFunction(
        owner.function,
        name,
        format_worker_version_id(work.api.account.account, name, row.id),
        artifact_sha256=row.archive,
        mark=owner.mark_in(row.tag),
    )


ACCOUNT, GATE, PLACE, ADDRESS = "account", "gate", "place", "address"
# The zone that the last release made a route in.
ZONE = "zone"
