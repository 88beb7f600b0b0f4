"""Deploy functions to Alibaba Cloud: a deploy publishes a version; the release switches traffic to
it."""

import functools

from msgspec import Struct, field

from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud4.client import Cloud4Call, Cloud4Work, build_cloud4_call
from fabric.providers.cloud4.function_attributes import (
    FunctionTag,
    read_attributes,
    update_attributes,
)
from fabric.providers.cloud4.limits import set_concurrency
from fabric.providers.cloud4.settings import (
    Cloud4Place,
    FunctionVersion,
    PublishedMark,
    build_function_name,
    parse_version,
)
from fabric.providers.cloud4.versions import (
    SOURCE_RUNTIMES,
    Cloud4Plan,
    PublishedVersion,
    build_function_document,
    build_function_source,
    build_new_function_document,
    find_live_alias,
    find_version,
    list_versions,
    publish_version,
    refuse_source,
)
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import mark_untouched, refuse_without_version
from fabric.providers.core.ownership import (
    FunctionOwner,
    build_owner,
    foreign_resource_problem,
)
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.retry import RetryPolicy, poll_until
from fabric.system.retry import TransientError

# Code is unpacked, and looked at, in seconds.
PREPARING = RetryPolicy(base=0.05, cap=2.0, most=120.0)
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


def deploy_function(
    work: Cloud4Work, address: DeploymentAddress, order: FunctionOrder
) -> LiveFunction:
    with mark_untouched():
        runtime = SOURCE_RUNTIMES.require(order)
        source = build_function_source(order, runtime, work.place.region)
        refuse_source(order, source)
    name, owner = build_function_name(address, order.name), build_owner(address, order.name)
    # What stands around a handler, and what the config says of it, are a part of what is made.
    around = _hash_parts(runtime.digest, *work.own.fields)
    mark = PublishedMark(order.mark, around, order.artifact.sha256)
    plan = Cloud4Plan(order=order, name=name, owner=owner, runtime=runtime, mark=mark, own=work.own)

    def act(work: Cloud4Work) -> LiveFunction:
        return _deploy_source(work, address, _SourcedPlan(plan, source))

    return work.trying(act)


@functools.cache
def _hash_parts(*parts: str) -> str:
    return hash_fields(parts)[:8]


def _deploy_source(
    work: Cloud4Work, address: DeploymentAddress, sourced: _SourcedPlan
) -> LiveFunction:
    """Deploy a source. The result of an earlier try is used, or the deploy starts again as a
    whole."""
    plan = sourced.plan
    before = row = fetch_own_function(work, plan.name, plan.owner)
    if row is None:
        require_ownership_tag(address, plan.order.name, work.place)
    found = _find_matching_version(work, plan) if row else None
    if row is None or found is None:
        refuse_without_version(plan.order)
        row = _write_function(work, sourced, is_new=row is None)
        found = publish_version(work, plan.name, plan.mark)
        work.watch.hear(
            f"{plan.order.name}: version {found.version_id} exists and receives no traffic yet"
        )
    if MET_VERSION + plan.order.name not in read_kept_texts(address).texts:
        _set_inactive_attributes(work, plan, before)
    return _build_live_function(row, found, plan)


def _set_inactive_attributes(work: Cloud4Work, plan: Cloud4Plan, before: Cloud4Row | None) -> None:
    """Set the attributes of a function without traffic; otherwise a release sets them. A new
    function has its tags already."""
    wanted = read_attributes(plan.order)
    if before is not None:
        update_attributes(work, plan.name, before, wanted)
    elif wanted.reserved:
        set_concurrency(work, plan.name, wanted.reserved)


def fetch_function(work: Cloud4Work, name: str) -> Cloud4Row | None:
    return work.look(Cloud4Call("GetFunction", "GET", (name,)), Cloud4Row)


def fetch_own_function(work: Cloud4Work, name: str, owner: FunctionOwner) -> Cloud4Row | None:
    """Return the function, or None if it is missing or not ours."""
    row = fetch_function(work, name)
    if row is not None and not owner.is_in(row.description):
        raise FabricError(foreign_resource_problem("function", name, owner.title))
    return row


def _find_matching_version(work: Cloud4Work, plan: Cloud4Plan) -> PublishedVersion | None:
    """Find the version to roll back to, if it still exists, otherwise a version that matches the
    order."""
    then = parse_version(plan.order.version).version
    # Tags are a function's, and of none of its versions.
    marks = {plan.order.mark, plan.order.mark_of_then} - {""}
    rows = list(list_versions(work, plan.name))
    for one in rows:
        if then and one.version_id == then and one.mark.mark in marks:
            return one
    return next((one for one in rows if one.mark.is_wanted(plan.mark)), None)


def _write_function(work: Cloud4Work, sourced: _SourcedPlan, *, is_new: bool) -> Cloud4Row:
    """Write the function without effect on traffic, which reaches only published versions."""
    plan = sourced.plan
    if is_new:
        document = build_new_function_document(plan, sourced.source)
        row = work.api.once(build_cloud4_call("CreateFunction", "POST", (), document), Cloud4Row)
    else:
        document = build_function_document(plan, sourced.source)
        row = work.api.once(
            build_cloud4_call("UpdateFunction", "PUT", (plan.name,), document), Cloud4Row
        )
    return _wait_until_settled(work, plan, row)


def _wait_until_settled(work: Cloud4Work, plan: Cloud4Plan, row: Cloud4Row) -> Cloud4Row:
    """Wait until no operation on the function is running."""

    def look() -> Cloud4Row | None:
        found = fetch_function(work, plan.name)
        return None if found is None or found.is_moving else found

    if row.is_moving:
        work.watch.hear(f"{plan.order.name}: waiting until its code is ready")
    found = poll_until(look, PREPARING, work.watch) if row.is_moving else row
    if found is None:
        raise TransientError(f"the function `{plan.name}` is not ready yet")
    if found.failure:
        words = f"function `{plan.order.name}`: {work.quoted(found.failure)}"
        raise FabricError(Problem("provider/failed", words, "this is a message from Alibaba Cloud"))
    return found


def _build_live_function(row: Cloud4Row, found: PublishedVersion, plan: Cloud4Plan) -> LiveFunction:
    return LiveFunction(
        name=plan.order.name,
        resource_name=plan.name,
        resource_id=row.at(found.version_id).text,
        endpoint="",
        artifact_sha256=found.mark.archive,
        mark=plan.order.mark,
        triggers=plan.order.triggers,
    )


def find_function(
    work: Cloud4Work, address: DeploymentAddress, function: str, mark: str = ""
) -> LiveFunction | None:
    """Find the version with a mark, or without one the version that receives traffic.

    Its surroundings can differ, because it comes from a call with an unknown outcome.
    """
    name, owner = build_function_name(address, function), build_owner(address, function)
    row = fetch_own_function(work, name, owner)
    if row is None:
        return None
    wanted = PublishedMark(mark)
    version = find_version(work, name, wanted) if mark else _find_active_version(work, name)
    if version is None:
        return None
    said = version.mark
    ident = row.at(version.version_id).text
    return LiveFunction(
        name=function,
        resource_name=name,
        resource_id=ident,
        endpoint="",
        artifact_sha256=said.archive,
        mark=said.mark,
    )


def _find_active_version(work: Cloud4Work, name: str) -> PublishedVersion | None:
    alias = find_live_alias(work, name)
    if alias is None:
        return None
    rows = list_versions(work, name)
    return next((one for one in rows if one.version_id == alias.version_id), None)


# Of each function: the version that is met, its address, its clocks, and what it has beside.
MET_VERSION, ROUTE, BESIDE = "version:", "route:", "beside:"


def require_ownership_tag(address: DeploymentAddress, function: str, place: Cloud4Place) -> None:
    """Raise if a missing function cannot be proven deleted, because the account is unknown.

    An unknown account does not prevent creation, but it does if state records a deployment.
    """
    record = address.previous
    known = record.function(function) if record else None
    account = parse_version(known.resource_id).place.account if known else ""
    if record is None or not account or place.account == account:
        return
    message = (
        f"function `{function}` of {record.ref.title} was not found with these credentials, and "
        f"the state records it in the account {account}"
    )
    hint = (
        f"set CLOUD4_ACCOUNT_ID={account} if the key belongs to that account: the "
        "function then counts as already deleted"
    )
    raise FabricError(Problem("deploy/unproven-account", message, hint))
