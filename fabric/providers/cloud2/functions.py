"""Deploy functions to Google Cloud: a deploy builds a revision; the release switches traffic to
it."""

import functools
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.client import FUNCTIONS, Cloud2Call, build_cloud2_call
from fabric.providers.cloud2.deployed import (
    MOVING,
    Cloud2Row,
    fetch_either,
    fetch_function,
    fetch_service,
)
from fabric.providers.cloud2.images import build_service_call, push_function_image, require_server
from fabric.providers.cloud2.revisions import (
    Cloud2Plan,
    RevisionRow,
    build_function_document,
    fetch_revision,
    fetch_serving,
    find_revision,
    pin_traffic,
    read_settings_label,
)
from fabric.providers.cloud2.source import RUNTIMES, build_function_source
from fabric.providers.cloud2.work import (
    Cloud2Work,
    OperationRow,
    RevisionMark,
    build_function_name,
    derive_clock_key,
    format_version_id,
    parse_revision,
    timeout_problem,
    wait_for_operation,
)
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import mark_untouched, refuse_without_version
from fabric.providers.core.ownership import FunctionOwner, build_owner
from fabric.providers.core.retry import poll_until
from fabric.providers.core.triggers import build_function_endpoint
from fabric.system.retry import TransientError


class _SignedPlace(Struct, frozen=True, rename="camel"):
    upload_url: str
    storage_source: JsonObject


def deploy_function(
    work: Cloud2Work, address: DeploymentAddress, order: FunctionOrder
) -> LiveFunction:
    name, owner = build_function_name(address, order.name), build_owner(address, order.name)
    with mark_untouched():
        around = _hash_surroundings(work, order)
    mark = RevisionMark(order.mark, around, order.artifact.sha256)
    plan = Cloud2Plan(
        order=order,
        name=name,
        owner=owner,
        mark=mark,
        clock=derive_clock_key(address, owner),
        own=work.own,
    )

    def act(work: Cloud2Work) -> LiveFunction:
        """Wait for the operation of an earlier try and use its result."""
        row = _wait_for_own(work, name, owner, _choose_fetch(order))
        found = None if row is None else _find_matching_revision(work, plan)
        if row is not None and found is not None:
            return _build_live_function(row, found, plan)
        refuse_without_version(order)
        with work.turn():
            before = None if row is None else read_settings_label(row.labels)
            return _create_revision(work, plan, before)

    live = work.trying(act)
    work.watch.hear(f"{order.name}: revision {parse_revision(live.resource_id)} is ready")
    return live


def _hash_surroundings(work: Cloud2Work, order: FunctionOrder) -> str:
    """Hash everything around the handler, including its service account."""
    is_image = order.artifact.image is not None
    server = require_server(order).digest if is_image else RUNTIMES.require(order).digest
    return _hash_parts(server, work.own.service_account)


@functools.cache
def _hash_parts(*parts: str) -> str:
    return hash_fields(parts)[:8]


_Fetch: TypeAlias = Callable[[Cloud2Work, str], Cloud2Row | None]


def _choose_fetch(order: FunctionOrder) -> _Fetch:
    return fetch_service if order.artifact.image else fetch_function


def _wait_for_own(
    work: Cloud2Work, name: str, owner: FunctionOwner, fetch: _Fetch
) -> Cloud2Row | None:
    """Return the function once no operation is running, or None if it is missing or not ours."""

    def look() -> tuple[Cloud2Row | None] | None:
        row = fetch(work, name)
        if row is not None and not row.is_of(owner):
            raise FabricError(_foreign_function_problem(name, owner))
        return None if row is not None and row.state in MOVING else (row,)

    found = poll_until(look, work.building, work.watch)
    if found is None:
        raise FabricError(timeout_problem(f"function `{owner.function}`", work.building))
    return found[0]


def _foreign_function_problem(name: str, owner: FunctionOwner) -> Problem:
    message = f"the function `{name}` already exists and has no label of {owner.title}"
    hint = "delete it manually, or rename the service; it was not changed"
    return Problem("deploy/foreign", message, hint)


def _find_matching_revision(work: Cloud2Work, plan: Cloud2Plan) -> RevisionRow | None:
    """Find the revision to roll back to, if it still exists and is healthy, otherwise a version
    that matches the order."""
    ident = parse_revision(plan.order.version)
    then = fetch_revision(work, plan.name, ident) if ident else None
    # A function has labels, and its revisions have none.
    marks = {plan.order.mark, plan.order.mark_of_then} - {""}
    if then is not None and then.is_good and then.mark.mark in marks:
        return then
    return find_revision(work, plan.name, plan.mark)


def _create_revision(
    work: Cloud2Work, plan: Cloud2Plan, settings_before: frozenset[str] | None
) -> LiveFunction:
    """Create a revision. A new function has no settings before."""
    is_new = settings_before is None
    plan = replace(plan, settings_before=settings_before or frozenset())
    if plan.order.artifact.image:
        with mark_untouched():
            image = push_function_image(work, plan)
        call = build_service_call(work, plan, image, is_new=is_new)
    else:
        work.watch.hear(f"{plan.order.name}: building, which takes one to two minutes")
        call = _build_function_call(work, plan, is_new=is_new)
    if not is_new:
        pin_traffic(work, plan.name)
    begun = work.api.once(call, OperationRow)
    wait_for_operation(work, call.interface, begun, f"function `{plan.order.name}`")
    row, found = _choose_fetch(plan.order)(work, plan.name), _find_matching_revision(work, plan)
    if row is None or found is None:
        raise TransientError(f"the new revision of `{plan.name}` is not visible yet")
    return _build_live_function(row, found, plan)


def _build_function_call(work: Cloud2Work, plan: Cloud2Plan, *, is_new: bool) -> Cloud2Call:
    document = build_function_document(plan, _upload_source(work, plan.order))
    if is_new:
        path = f"/v2/{work.place.path}/functions?functionId={plan.name}"
        return build_cloud2_call(FUNCTIONS, "POST", path, document)
    path = f"/v2/{work.place.function(plan.name)}?updateMask={plan.update_mask}"
    return build_cloud2_call(FUNCTIONS, "PATCH", path, document)


def _upload_source(work: Cloud2Work, order: FunctionOrder) -> JsonObject:
    with mark_untouched():
        content = build_function_source(order, work.place.region)
    path = f"/v2/{work.place.path}/functions:generateUploadUrl"
    call = build_cloud2_call(FUNCTIONS, "POST", path, {"environment": "GEN_2"})
    upload = work.api.once(call, _SignedPlace)
    work.api.upload(upload.upload_url, content)
    return upload.storage_source


def _build_live_function(row: Cloud2Row, found: RevisionRow, plan: Cloud2Plan) -> LiveFunction:
    order = plan.order
    return LiveFunction(
        name=order.name,
        resource_name=plan.name,
        resource_id=format_version_id(row.name, found.id),
        endpoint=build_function_endpoint(row.service_config.uri, order.triggers),
        artifact_sha256=found.mark.archive,
        mark=order.mark,
        triggers=order.triggers,
        image=found.image if row.is_service else "",
    )


def find_by_mark(
    work: Cloud2Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find a revision whatever its surroundings: it comes from a call with an unknown outcome."""
    name, owner = build_function_name(address, function), build_owner(address, function)
    row = _wait_for_own(work, name, owner, fetch_either)
    found = None if row is None else find_revision(work, name, RevisionMark(mark, "", ""))
    return None if found is None or row is None else _convert_revision(owner, row, found)


def find_active_version(
    work: Cloud2Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the revision that receives traffic. A function of another owner is treated as
    missing."""
    name, owner = build_function_name(address, function), build_owner(address, function)
    row = fetch_either(work, name)
    if row is None:
        return None
    if not row.is_of(owner):
        raise FabricError(_foreign_function_problem(name, owner))
    there = fetch_serving(work, name)
    found = fetch_revision(work, name, there.met) if there and there.met else None
    return None if found is None else _convert_revision(owner, row, found)


def _convert_revision(owner: FunctionOwner, row: Cloud2Row, found: RevisionRow) -> LiveFunction:
    said = found.mark
    return LiveFunction(
        name=owner.function,
        resource_name=row.name.rpartition("/")[2],
        resource_id=format_version_id(row.name, found.id),
        endpoint="",
        artifact_sha256=said.archive,
        mark=said.mark,
        image=found.image if row.is_service else "",
    )
