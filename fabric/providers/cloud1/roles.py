"""Roles that fabric creates: one for each function with `permissions`, and one for the schedules
of a service.

A deploy only adds permissions, because the old version still receives traffic. The release removes
what the new version does not need.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.aliases import StoredReleaseState, read_kept_state
from fabric.providers.cloud1.client import GONE, MAX_PARALLEL, convert_client_errors, ignore_codes
from fabric.providers.cloud1.function_attributes import has_known_traffic
from fabric.providers.cloud1.ownership import read_home
from fabric.providers.cloud1.permissions import Arn, parse_arn_home
from fabric.providers.cloud1.policies import LONGEST_POLICY, RolePolicies, build_policies
from fabric.providers.cloud1.versions import (
    Cloud1Work,
    build_ownership_tags,
    retry_on_conflict,
)
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.payloads import format_json
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.triggers import format_resource_name, shorten_name
from fabric.system.cloud1_account import read_error_code

_POLICY = "fabric"
_KEPT = "role:"
_KEY = "permissions"
_NAME_LENGTH = 64
_FOR_SCHEDULES = {"fabric:purpose": "schedules"}


class Role(Struct, frozen=True):
    """The role of one function, or without a function that of the schedules of a service."""

    work: Cloud1Work
    address: DeploymentAddress
    function: str

    @property
    def name(self) -> str:
        if not self.function:
            return shorten_name(format_resource_name(self.address, "scheduler"), _NAME_LENGTH)
        return shorten_name(
            f"{format_resource_name(self.address, self.function)}-role", _NAME_LENGTH
        )

    @property
    def user(self) -> str:
        return f"the function `{self.function}`" if self.function else "the schedules of a service"

    @property
    def tags(self) -> dict[str, str]:
        purpose = {"fabric:function": self.function} if self.function else _FOR_SCHEDULES
        return {**build_ownership_tags(self.address), **purpose}

    @property
    def trust(self) -> str:
        service = "lambda.amazonaws.com" if self.function else "scheduler.amazonaws.com"
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": service},
            "Action": "sts:AssumeRole",
        }
        return format_json({"Version": "2012-10-17", "Statement": [statement]})

    @property
    def iam(self) -> Any:
        return self.work.clients.of("iam")


class _RoleState(Struct, frozen=True):
    """The ARN and the permissions of a role."""

    arn: str
    policies: RolePolicies


class _KeptRole(Struct, frozen=True):
    """What state stores of a released role."""

    digest: str = ""
    arn: str = ""
    boundary: str = ""

    def format(self) -> str:
        return f"{self.digest} {self.arn} {self.boundary}".rstrip()


def _parse_kept(text: str) -> _KeptRole:
    return _KeptRole(*text.split(" "))


def has_own_role(settings: Mapping[str, str]) -> bool:
    return _KEY in settings


def prepare_role(work: Cloud1Work, address: DeploymentAddress, order: FunctionOrder) -> str:
    """Return the ARN of the function's role, with at least the permissions of this order."""
    settings = dict(order.settings)
    if not has_own_role(settings):
        return settings.get("role") or work.own.role_arn
    role, place = Role(work, address, order.name), _find_place(work, address)
    wanted = build_policies(settings, order.triggers, place)
    is_new = not has_known_traffic(address, order.name)
    arn = _create_exact_role(role, wanted) if is_new else ""
    if arn:
        return arn
    work.clients.remember_role(role.name, "")
    there = _read_released_role(address, order.name, place) or _open_role(role)
    joined = wanted.join(there.policies)
    _refuse_long(role, joined)
    if joined.document != there.policies.document:
        put_policy(role, joined)
    for arn in joined.managed:
        if arn not in there.policies.managed:
            role.iam.attach_role_policy(RoleName=role.name, PolicyArn=arn)
    return there.arn


def _create_exact_role(role: Role, wanted: RolePolicies) -> str:
    """Create the role with exactly these permissions, and return its ARN; empty if it exists."""
    _refuse_long(role, wanted)
    made = _try_create(role)
    if made is None:
        return ""
    if wanted.document:
        put_policy(role, wanted)
    for managed in wanted.managed:
        role.iam.attach_role_policy(RoleName=role.name, PolicyArn=managed)
    arn = str(made["Arn"])
    role.work.clients.remember_role(role.name, f"{wanted.digest} {arn}")
    return arn


def release_roles(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    kept: StoredReleaseState,
) -> dict[str, str]:
    """Remove permissions that the released versions do not need, and return the values to store.
    A role stays as long as its function, because old versions use it."""
    wanted = {
        one.name: build_policies(dict(one.settings), one.triggers, parse_arn_home(one.resource_id))
        for one in functions
        if has_own_role(dict(one.settings))
    }

    def is_changed(name: str) -> bool:
        last = _parse_kept(kept.sure(_KEPT + name))
        return (last.digest, last.boundary) != (wanted[name].digest, work.own.iam.boundary)

    def release(name: str) -> str:
        with (
            attach_error_spot(name),
            convert_client_errors(f"the role of function `{name}`", work.scope.quoted),
        ):
            role = Role(work, address, name)
            digest, _, arn = work.clients.take_role(role.name).partition(" ")
            # A role that this run created has exactly the permissions of its function.
            if digest != wanted[name].digest:
                arn = _replace_policies(role, wanted[name])
        return _KeptRole(wanted[name].digest, arn, work.own.iam.boundary).format()

    changed = [name for name in wanted if is_changed(name)]
    new = dict(zip(changed, run_parallel(release, changed, MAX_PARALLEL), strict=True))
    last = {one.name: kept.texts.get(_KEPT + one.name, "") for one in functions}
    return {_KEPT + name: text for name, text in {**last, **new}.items() if text}


def delete_roles(
    work: Cloud1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete the roles that fabric created for these functions."""
    kept, record = read_kept_state(address), address.previous

    def is_possible(name: str) -> bool:
        live = record.function(name) if record else None
        is_recorded = live is not None and has_own_role(dict(live.settings))
        return is_recorded or _KEPT + name in kept.texts

    names = [one.name for one in functions if is_possible(one.name)]
    run_parallel(lambda name: delete_role(Role(work, address, name)), names, MAX_PARALLEL)


def _find_place(work: Cloud1Work, address: DeploymentAddress) -> Arn:
    home = read_home(address)
    if home is not None:
        return home
    meta = work.functions.meta
    return Arn(meta.partition, meta.region_name, work.clients.account())


def _read_released_role(address: DeploymentAddress, function: str, place: Arn) -> _RoleState | None:
    """Return the role as the last release left it. Between a deploy and its release it allows
    more, and has to be read."""
    record = address.previous.function(function) if address.previous else None
    settings = dict(record.settings) if record else {}
    if record is None or not has_own_role(settings):
        return None
    policies = build_policies(settings, record.triggers, place)
    last = _parse_kept(read_kept_state(address).sure(_KEPT + function))
    return _RoleState(last.arn, policies) if last.digest == policies.digest else None


def _open_role(role: Role) -> _RoleState:
    """Read the role. It is created if it does not exist."""
    found = claim_role(role)
    policies = RolePolicies(tuple(_read_statements(role)), tuple(_list_attached(role)))
    return _RoleState(str(found["Arn"]), policies)


def claim_role(role: Role) -> Mapping[str, Any]:
    """Describe or create the role. Raises if it belongs to another owner."""
    found = _find_role(role) or _try_create(role) or _find_role(role)
    tags = {one["Key"]: one["Value"] for one in found.get("Tags", ())}
    if any(tags.get(name) != text for name, text in role.tags.items()):
        message = f"the role `{role.name}` already exists at AWS and does not belong to {role.user}"
        instead = "`role` instead of `permissions`" if role.function else "`schedulerRoleArn`"
        hint = f"delete it, or set {instead}; it was not changed"
        raise FabricError(Problem("deploy/foreign", message, hint))
    return found


def _find_role(role: Role) -> Mapping[str, Any]:
    """Describe the role; empty if it does not exist."""
    found: dict[str, Any] = {}
    with ignore_codes(GONE):
        found.update(role.iam.get_role(RoleName=role.name)["Role"])
    return found


def _try_create(role: Role) -> Mapping[str, Any] | None:
    """Create the role; None if it exists, possibly by an attempt whose response was lost."""
    from botocore.exceptions import ClientError

    boundary = role.work.own.iam.boundary
    tags = [{"Key": name, "Value": text} for name, text in role.tags.items()]
    try:
        answer = role.iam.create_role(
            RoleName=role.name,
            Path=role.work.own.iam.path,
            AssumeRolePolicyDocument=role.trust,
            Description=f"Role of {role.user}, managed by fabric".replace("`", ""),
            Tags=tags,
            **({"PermissionsBoundary": boundary} if boundary else {}),
        )
    except ClientError as error:
        if read_error_code(error) != "EntityAlreadyExists":
            raise
        return None
    role.work.scope.watch.hear(f"{role.function or 'schedules'}: created the role `{role.name}`")
    limit = {"PermissionsBoundary": {"PermissionsBoundaryArn": boundary}} if boundary else {}
    return {**answer["Role"], **limit, "Tags": tags}


def _read_statements(role: Role) -> Iterator[str]:
    with ignore_codes(GONE):
        found = role.iam.get_role_policy(RoleName=role.name, PolicyName=_POLICY)
        document = found["PolicyDocument"]
        said = document if isinstance(document, dict) else json.loads(document)
        yield from (format_json(one) for one in said["Statement"])


def _list_attached(role: Role) -> Iterator[str]:
    pages = role.iam.get_paginator("list_attached_role_policies")
    for page in pages.paginate(RoleName=role.name):
        yield from (one["PolicyArn"] for one in page["AttachedPolicies"])


def _refuse_long(role: Role, policies: RolePolicies) -> None:
    if len(policies.document) > LONGEST_POLICY:
        message = (
            f"the policy of the role `{role.name}` would have {len(policies.document):,} "
            f"characters while both versions exist; the maximum is {LONGEST_POLICY:,}"
        )
        hint = "remove permissions in one deploy and add the new ones in the next, or use `*`"
        raise FabricError(Problem("deploy/policy-too-large", message, hint))


def put_policy(role: Role, policies: RolePolicies) -> None:
    asked = {
        "RoleName": role.name,
        "PolicyName": _POLICY,
        "PolicyDocument": policies.document,
    }
    retry_on_conflict(role.work, lambda: role.iam.put_role_policy(**asked))


def _replace_policies(role: Role, wanted: RolePolicies) -> str:
    """Make the role allow exactly this, and return its ARN."""
    found = _find_role(role)
    _write_policies(role, wanted, set(_list_attached(role)))
    set_boundary(role, found)
    return str(found.get("Arn", ""))


def _write_policies(role: Role, wanted: RolePolicies, attached: AbstractSet[str]) -> None:
    if wanted.document:
        put_policy(role, wanted)
    else:
        _delete_policy(role, _POLICY)
    for arn in sorted(set(wanted.managed) - attached):
        role.iam.attach_role_policy(RoleName=role.name, PolicyArn=arn)
    for arn in sorted(attached - set(wanted.managed)):
        role.iam.detach_role_policy(RoleName=role.name, PolicyArn=arn)


def set_boundary(role: Role, found: Mapping[str, Any]) -> None:
    boundary = role.work.own.iam.boundary
    there = found.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn", "")
    if boundary and boundary != there:
        role.iam.put_role_permissions_boundary(RoleName=role.name, PermissionsBoundary=boundary)
    if there and not boundary:
        role.iam.delete_role_permissions_boundary(RoleName=role.name)


def _delete_policy(role: Role, name: str) -> None:
    with ignore_codes(GONE):
        role.iam.delete_role_policy(RoleName=role.name, PolicyName=name)


def delete_role(role: Role) -> None:
    found = _find_role(role)
    tags = {one["Key"]: one["Value"] for one in found.get("Tags", ())}
    if any(tags.get(name) != text for name, text in role.tags.items()):
        return
    for arn in list(_list_attached(role)):
        role.iam.detach_role_policy(RoleName=role.name, PolicyArn=arn)
    _delete_policy(role, _POLICY)
    with ignore_codes(GONE):
        role.iam.delete_role(RoleName=role.name)
    role.work.scope.watch.hear(f"{role.function or 'schedules'}: deleted the role `{role.name}`")
