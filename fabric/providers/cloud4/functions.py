"""Deploy functions to Alibaba Cloud: a deploy publishes a version; the release switches traffic to
it."""

import functools

from msgspec import Struct, field

from fabric.model.hashing import digest_fields
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud4.api import Cloud4Call, telling
from fabric.providers.cloud4.beside import beside_of, set_beside
from fabric.providers.cloud4.concurrency import set_concurrency
from fabric.providers.cloud4.documents import (
    Cloud4Plan,
    function_document,
    new_function_document,
    refuse_source,
)
from fabric.providers.cloud4.kept import MET_VERSION, refuse_unproven
from fabric.providers.cloud4.own_settings import (
    Cloud4Owner,
    FunctionVersion,
    PublishedMark,
    function_name,
    owner_of,
    version_in,
)
from fabric.providers.cloud4.source import function_source, require_runtime
from fabric.providers.cloud4.tags import FunctionTag
from fabric.providers.cloud4.versions import (
    PublishedVersion,
    live_alias,
    published,
    version_of,
    versions_of,
)
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.kept_texts import kept_texts
from fabric.providers.only_version import refuse_without_version
from fabric.providers.refused_calls import untouched
from fabric.providers.waiting import Waiting, until
from fabric.system.retry import TransientError

# Code is unpacked, and looked at, in seconds.
PREPARING = Waiting(base=0.05, cap=2.0, most=120.0)
_MOVING, _FAILED = frozenset(("Pending", "InProgress")), "Failed"


class Cloud4Row(Struct, frozen=True, rename="camel"):
    function_name: str = ""
    function_arn: str = ""
    function_id: str = ""
    description: str = ""
    state: str = ""
    state_reason: str = ""
    last_update_status: str = ""
    last_update_status_reason: str = ""
    tags: tuple[FunctionTag, ...] = field(default_factory=tuple)

    @property
    def is_moving(self) -> bool:
        return bool(_MOVING & {self.state, self.last_update_status})

    @property
    def failure(self) -> str:
        """The reason why the function cannot run; empty if it can."""
        if self.state == _FAILED:
            return self.state_reason or _FAILED
        if self.last_update_status == _FAILED:
            return self.last_update_status_reason or _FAILED
        return ""

    def at(self, version: str) -> FunctionVersion:
        return FunctionVersion(self.function_arn, version, self.function_id)


class _SourcedPlan(Struct, frozen=True):
    """A deploy plan with its source."""

    plan: Cloud4Plan
    source: bytes


def made(work: Cloud4Work, address: DeploymentAddress, order: FunctionOrder) -> LiveFunction:
    with untouched():
        runtime = require_runtime(order)
        source = function_source(order, runtime, work.place.region)
        refuse_source(order, source)
    name, owner = function_name(address, order.name), owner_of(address, order.name)
    # What stands around a handler, and what the config says of it, are a part of what is made.
    around = _digest(runtime.digest, *work.own.fields)
    mark = PublishedMark(order.mark, around, order.artifact.sha256)
    plan = Cloud4Plan(order, name, owner, runtime, mark, work.own)

    def act(work: Cloud4Work) -> LiveFunction:
        return _made(work, address, _SourcedPlan(plan, source))

    return work.trying(act)


@functools.cache
def _digest(*parts: str) -> str:
    return digest_fields(parts)[:8]


def _made(work: Cloud4Work, address: DeploymentAddress, sourced: _SourcedPlan) -> LiveFunction:
    """Deploy a source. The result of an earlier try is used, or the deploy starts again as a
    whole."""
    plan = sourced.plan
    before = row = own_row(work, plan.name, plan.owner)
    if row is None:
        refuse_unproven(address, plan.order.name, work.place)
    found = _there(work, plan) if row else None
    if row is None or found is None:
        refuse_without_version(plan.order)
        row = _written(work, sourced, is_new=row is None)
        found = published(work, plan.name, plan.mark)
        work.watch.hear(
            f"{plan.order.name}: version {found.version_id} exists and receives no traffic yet"
        )
    if MET_VERSION + plan.order.name not in kept_texts(address).texts:
        _set_unmet(work, plan, before)
    return _live(row, found, plan)


def _set_unmet(work: Cloud4Work, plan: Cloud4Plan, before: Cloud4Row | None) -> None:
    """Set the attributes of a function without traffic; otherwise a release sets them. A new
    function has its tags already."""
    wanted = beside_of(plan.order)
    if before is not None:
        set_beside(work, plan.name, before, wanted)
    elif wanted.reserved:
        set_concurrency(work, plan.name, wanted.reserved)


def function_row(work: Cloud4Work, name: str) -> Cloud4Row | None:
    return work.look(Cloud4Call("GetFunction", "GET", (name,)), Cloud4Row)


def own_row(work: Cloud4Work, name: str, owner: Cloud4Owner) -> Cloud4Row | None:
    """Return the function, or None if it is missing or not ours."""
    row = function_row(work, name)
    if row is not None and not owner.is_in(row.description):
        raise FabricError(_foreign(name, owner))
    return row


def _foreign(name: str, owner: Cloud4Owner) -> Problem:
    message = f"the function `{name}` already exists and does not belong to {owner.title}"
    hint = "delete it manually, or rename the service; it was not changed"
    return Problem("deploy/foreign", message, hint)


def _there(work: Cloud4Work, plan: Cloud4Plan) -> PublishedVersion | None:
    """Find the version to roll back to, if it still exists, otherwise a version that matches the
    order."""
    then = version_in(plan.order.version).version
    # Tags are a function's, and of none of its versions.
    marks = {plan.order.mark, plan.order.mark_of_then} - {""}
    rows = list(versions_of(work, plan.name))
    for one in rows:
        if then and one.version_id == then and one.mark.mark in marks:
            return one
    return next((one for one in rows if one.mark.is_wanted(plan.mark)), None)


def _written(work: Cloud4Work, sourced: _SourcedPlan, *, is_new: bool) -> Cloud4Row:
    """Write the function without effect on traffic, which reaches only published versions."""
    plan = sourced.plan
    if is_new:
        document = new_function_document(plan, sourced.source)
        row = work.api.once(telling("CreateFunction", "POST", (), document), Cloud4Row)
    else:
        document = function_document(plan, sourced.source)
        row = work.api.once(telling("UpdateFunction", "PUT", (plan.name,), document), Cloud4Row)
    return _settled(work, plan, row)


def _settled(work: Cloud4Work, plan: Cloud4Plan, row: Cloud4Row) -> Cloud4Row:
    """Wait until no operation on the function is running."""

    def look() -> Cloud4Row | None:
        found = function_row(work, plan.name)
        return None if found is None or found.is_moving else found

    if row.is_moving:
        work.watch.hear(f"{plan.order.name}: waiting until its code is ready")
    found = until(look, PREPARING, work.watch) if row.is_moving else row
    if found is None:
        raise TransientError(f"the function `{plan.name}` is not ready yet")
    if found.failure:
        words = f"function `{plan.order.name}`: {work.quoted(found.failure)}"
        raise FabricError(Problem("provider/failed", words, "this is a message from Alibaba Cloud"))
    return found


def _live(row: Cloud4Row, found: PublishedVersion, plan: Cloud4Plan) -> LiveFunction:
    return LiveFunction(
        plan.order.name,
        plan.name,
        row.at(found.version_id).text,
        "",
        found.mark.archive,
        plan.order.mark,
        plan.order.triggers,
    )


def found(
    work: Cloud4Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic.

    Its surroundings can differ, because it comes from a call with an unknown outcome.
    """
    name, owner = function_name(address, function), owner_of(address, function)
    row = own_row(work, name, owner)
    if row is None:
        return None
    version = version_of(work, name, PublishedMark(mark)) if mark else _met(work, name)
    if version is None:
        return None
    said = version.mark
    ident = row.at(version.version_id).text
    return LiveFunction(function, name, ident, "", said.archive, said.mark)


def _met(work: Cloud4Work, name: str) -> PublishedVersion | None:
    alias = live_alias(work, name)
    if alias is None:
        return None
    rows = versions_of(work, name)
    return next((one for one in rows if one.version_id == alias.version_id), None)
