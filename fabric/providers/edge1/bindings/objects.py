"""Durable Objects of a service: one Worker has their classes, and the functions bind to it.

Versions of functions stay free of migrations, which Cloudflare applies only with an upload that
receives traffic at once. So a pending migration takes effect in the deploy, before the release.
"""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import mark_untouched
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.release_state import ReleaseState
from fabric.providers.edge1.assets import find_static_folder
from fabric.providers.edge1.bindings.bindings import build_objects_name
from fabric.providers.edge1.bindings.migrations import ObjectsPlan, plan_objects
from fabric.providers.edge1.client import Owner, build_worker_owner
from fabric.providers.edge1.uploads import Upload, build_objects_upload, extend_mark
from fabric.providers.edge1.versions import (
    activate_version,
    check_ownership,
    find_met_version,
    has_own,
    list_worker_versions,
    upload_version,
)
from fabric.providers.edge1.work import OBJECTS, Edge1Work

# Not the name of a function.
_OWNER = "durable objects"
_DELETE, _KEEP = "delete", "keep"


class _Script(Struct, frozen=True):
    migration_tag: str = ""


class _Environment(Struct, frozen=True):
    script: _Script = _Script()


class _Service(Struct, frozen=True):
    default_environment: _Environment = field(default_factory=_Environment)


def build_objects_owner(address: DeploymentAddress) -> Owner:
    return build_worker_owner(address, _OWNER)


def deploy_objects(
    work: Edge1Work,
    address: DeploymentAddress,
    order: FunctionOrder,
    bindings: Sequence[JsonObject],
) -> None:
    """Upload the classes, if this function has them in its module."""
    plan = plan_objects(work.own.bindings)
    if plan is None or plan.function != order.name:
        return
    name = build_objects_name(address)
    with mark_untouched():
        upload = build_objects_upload(
            order,
            build_objects_owner(address),
            work.own.compatibility_date,
            plan.classes,
            find_static_folder(work.own.assets),
        )
    upload = replace(upload.complete(bindings, work.own.metadata), migration=plan.tag)
    with work.convert_errors(f"the Worker `{name}` with the Durable Objects"):
        applied = work.patient(lambda: _apply_migrations(work, name, plan, upload))
        if applied:
            work.watch.hear(f"the Worker `{name}` has the migration `{plan.tag}`")
        else:
            upload_version(work, name, upload)


def _apply_migrations(work: Edge1Work, name: str, plan: ObjectsPlan, upload: Upload) -> bool:
    """Upload the classes with the migrations that are not applied yet, and return whether there
    were any."""
    rows = list_worker_versions(work, name)
    if rows is not None:
        check_ownership(name, rows, upload.owner)
    call = ProviderCall("GET", f"{work.workers}/services/{name}")
    service = work.look_once(call, _Service) if rows is not None else None
    applied = service.default_environment.script.migration_tag if service else ""
    pending = plan.list_pending(applied)
    if not pending:
        return False
    steps = [{key: value for key, value in one.items() if key != "tag"} for one in pending]
    old: JsonObject = {"old_tag": applied} if applied else {}
    migrations: JsonObject = {**old, "new_tag": plan.tag, "steps": steps}
    kind, content = replace(upload, migrations=migrations).form()
    work.api.once(ProviderCall("PUT", work.script(name), content, kind), object)
    return True


def release_objects(
    work: Edge1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    kept: ReleaseState,
) -> dict[str, str]:
    """Activate the classes of a release before its functions, and return the values to store.

    Cloudflare never returns past a migration: a rollback then keeps the newer classes.
    """
    plan, stored = plan_objects(work.own.bindings), kept.texts.get(OBJECTS, "")
    live = next((one for one in functions if plan and one.name == plan.function), None)
    if plan is None or live is None:
        return {OBJECTS: stored} if stored else {}
    name, owner = build_objects_name(address), build_objects_owner(address)
    tag = owner.tag(extend_mark(live.mark, work.own.compatibility_date))
    text = f"{_DELETE if plan.is_deleted else _KEEP} {tag}"
    if (kept.sure(OBJECTS) or "").partition(" ")[2] != tag:
        with work.convert_errors(f"the Worker `{name}` with the Durable Objects"):
            _activate(work, name, tag)
    return {OBJECTS: text}


def _activate(work: Edge1Work, name: str, tag: str) -> None:
    rows = list_worker_versions(work, name) or ()
    met = find_met_version(work, name)
    wanted = next((one for one in rows if one.tag == tag), None)
    current = next((one for one in rows if one.id == met), None)
    if wanted is None or wanted.id == met:
        return
    if current is not None and current.migration != wanted.migration:
        work.watch.hear(
            f"the Worker `{name}` keeps its classes: they have the migration "
            f"`{current.migration}`, which cannot be undone"
        )
        return
    activate_version(work, name, wanted.id)
    work.watch.hear(f"the Worker `{name}` has the classes of this release")


def delete_objects(work: Edge1Work, address: DeploymentAddress, stored: str) -> None:
    """Delete the Worker with the classes and all data of their objects, if the config asks for
    it."""
    plan, name = plan_objects(work.own.bindings), build_objects_name(address)
    if plan is None and not stored:
        return
    is_deleted = plan.is_deleted if plan else stored.startswith(_DELETE)
    with work.convert_errors(f"the Worker `{name}` with the Durable Objects"):
        rows = list_worker_versions(work, name)
        if rows is None:
            return
        if not (is_deleted and has_own(rows, build_objects_owner(address))):
            why = "it belongs to another service" if is_deleted else "`onRemove: delete` is not set"
            work.watch.hear(f"the Worker `{name}` is kept with the data of its objects: {why}")
            return
        work.delete_script(name)
        work.watch.hear(f"the Worker `{name}` was deleted with the data of its objects")
