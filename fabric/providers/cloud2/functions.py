"""Deploy functions to Google Cloud: a deploy builds a revision; the release switches traffic to
it."""

import functools

from msgspec import Struct, field

from fabric.model.hashing import digest_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.api import FUNCTIONS
from fabric.providers.cloud2.documents import (
    UPDATED,
    Cloud2Plan,
    function_document,
)
from fabric.providers.cloud2.own_settings import (
    OWNER,
    Cloud2Owner,
    RevisionMark,
    clock_key,
    function_name,
    owner_of,
    revision_in,
    version_id,
)
from fabric.providers.cloud2.revisions import (
    RevisionRow,
    pinned,
    revision,
    revision_of,
    serving,
)
from fabric.providers.cloud2.source import function_source, require_runtime
from fabric.providers.cloud2.work import Cloud2Work, OperationRow, finished, too_long
from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.http_calls import sending
from fabric.providers.naming import function_endpoint
from fabric.providers.only_version import refuse_without_version
from fabric.providers.refused_calls import untouched
from fabric.providers.waiting import until
from fabric.system.retry import TransientError

_MOVING = frozenset(("DEPLOYING", "DELETING"))


class _ServedBy(Struct, frozen=True, rename="camel"):
    uri: str = ""
    service_account_email: str = ""


class Cloud2Row(Struct, frozen=True, rename="camel"):
    name: str
    state: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    service_config: _ServedBy = _ServedBy()

    def is_of(self, owner: Cloud2Owner) -> bool:
        return self.labels.get(OWNER) == owner.label


class _SignedPlace(Struct, frozen=True, rename="camel"):
    upload_url: str
    storage_source: JsonObject


def made(work: Cloud2Work, address: DeploymentAddress, order: FunctionOrder) -> LiveFunction:
    name, owner = function_name(address, order.name), owner_of(address, order.name)
    with untouched():
        around = _around(work, order)
    mark = RevisionMark(order.mark, around, order.artifact.sha256)
    plan = Cloud2Plan(order, name, owner, mark, clock_key(address, owner), work.own.service_account)

    def act(work: Cloud2Work) -> LiveFunction:
        """Wait for the operation of an earlier try and use its result."""
        row = settled_row(work, name, owner)
        found = None if row is None else _there(work, plan)
        if row is not None and found is not None:
            return _live(work, row, found, plan)
        refuse_without_version(order)
        with work.turn():
            work.watch.hear(f"{order.name}: building, which takes one to two minutes")
            return _built(work, plan, is_new=row is None)

    live = work.trying(act)
    work.watch.hear(f"{order.name}: revision {revision_in(live.resource_id)} is ready")
    return live


def _around(work: Cloud2Work, order: FunctionOrder) -> str:
    """Hash everything around the handler, including its service account."""
    return _digest(require_runtime(order).digest, work.own.service_account)


@functools.cache
def _digest(*parts: str) -> str:
    return digest_fields(parts)[:8]


def function_row(work: Cloud2Work, name: str) -> Cloud2Row | None:
    return work.look(FUNCTIONS, f"/v2/{work.place.function(name)}", Cloud2Row)


def settled_row(work: Cloud2Work, name: str, owner: Cloud2Owner) -> Cloud2Row | None:
    """Return the function once no operation is running, or None if it is missing or not ours."""

    def look() -> tuple[Cloud2Row | None] | None:
        row = function_row(work, name)
        if row is not None and not row.is_of(owner):
            raise FabricError(_foreign(name, owner))
        return None if row is not None and row.state in _MOVING else (row,)

    found = until(look, work.building, work.watch)
    if found is None:
        raise FabricError(too_long(f"function `{owner.function}`", work.building))
    return found[0]


def _foreign(name: str, owner: Cloud2Owner) -> Problem:
    message = f"the function `{name}` already exists and has no label of {owner.title}"
    hint = "delete it manually, or rename the service; it was not changed"
    return Problem("deploy/foreign", message, hint)


def _there(work: Cloud2Work, plan: Cloud2Plan) -> RevisionRow | None:
    """Find the revision to roll back to, if it still exists and is healthy, otherwise a version
    that matches the order."""
    ident = revision_in(plan.order.version)
    then = revision(work, plan.name, ident) if ident else None
    # Labels are a function's, and of none of its revisions.
    marks = {plan.order.mark, plan.order.mark_of_then} - {""}
    if then is not None and then.is_good and then.mark.mark in marks:
        return then
    return revision_of(work, plan.name, plan.mark)


def _built(work: Cloud2Work, plan: Cloud2Plan, *, is_new: bool) -> LiveFunction:
    if not is_new:
        pinned(work, plan.name)
    source = _uploaded(work, plan.order)
    document = function_document(plan, source)
    if is_new:
        path = f"/v2/{work.place.path}/functions?functionId={plan.name}"
        call = sending("POST", path, document)
    else:
        path = f"/v2/{work.place.function(plan.name)}?updateMask={','.join(UPDATED)}"
        call = sending("PATCH", path, document)
    begun = work.api.once(FUNCTIONS, call, OperationRow)
    finished(work, FUNCTIONS, begun, f"function `{plan.order.name}`")
    row, found = function_row(work, plan.name), _there(work, plan)
    if row is None or found is None:
        raise TransientError(f"the new revision of `{plan.name}` is not visible yet")
    return _live(work, row, found, plan)


def _uploaded(work: Cloud2Work, order: FunctionOrder) -> JsonObject:
    with untouched():
        content = function_source(order, work.place.region)
    path = f"/v2/{work.place.path}/functions:generateUploadUrl"
    upload = work.api.once(FUNCTIONS, sending("POST", path, {"environment": "GEN_2"}), _SignedPlace)
    work.api.upload(upload.upload_url, content)
    return upload.storage_source


def _live(work: Cloud2Work, row: Cloud2Row, found: RevisionRow, plan: Cloud2Plan) -> LiveFunction:
    order = plan.order
    return LiveFunction(
        order.name,
        plan.name,
        version_id(work.place, plan.name, found.id),
        function_endpoint(row.service_config.uri, order.triggers),
        found.mark.archive,
        order.mark,
        order.triggers,
    )


def found(
    work: Cloud2Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the revision with a mark, or without one the revision that receives traffic."""
    if mark:
        return made_under(work, address, function, mark)
    return met(work, address, function)


def made_under(
    work: Cloud2Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find a revision whatever its surroundings: it comes from a call with an unknown outcome."""
    name, owner = function_name(address, function), owner_of(address, function)
    row = settled_row(work, name, owner)
    found = None if row is None else revision_of(work, name, RevisionMark(mark, "", ""))
    return None if found is None or row is None else _found(work, owner, row, found)


def met(work: Cloud2Work, address: DeploymentAddress, function: str) -> LiveFunction | None:
    """Find the revision that receives traffic. A function of another owner is treated as
    missing."""
    name, owner = function_name(address, function), owner_of(address, function)
    row = function_row(work, name)
    if row is None:
        return None
    if not row.is_of(owner):
        raise FabricError(_foreign(name, owner))
    there = serving(work, name)
    found = revision(work, name, there.met) if there and there.met else None
    return None if found is None else _found(work, owner, row, found)


def _found(
    work: Cloud2Work, owner: Cloud2Owner, row: Cloud2Row, found: RevisionRow
) -> LiveFunction:
    name = row.name.rpartition("/")[2]
    ident = version_id(work.place, name, found.id)
    said = found.mark
    return LiveFunction(owner.function, name, ident, "", said.archive, said.mark)
