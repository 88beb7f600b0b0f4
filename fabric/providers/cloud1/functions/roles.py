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
from fabric.providers.cloud1.core.client import (
    GONE,
    MAX_PARALLEL,
    convert_client_errors,
    ignore_codes,
)
from fabric.providers.cloud1.core.ownership import read_home
from fabric.providers.cloud1.core.permissions import Arn, parse_arn_home
from fabric.providers.cloud1.core.policies import LONGEST_POLICY, RolePolicies, build_policies
from fabric.providers.cloud1.core.versions import (
    Cloud1Work,
    build_ownership_tags,
    retry_on_conflict,
)
from fabric.providers.cloud1.functions.aliases import StoredReleaseState, read_kept_state
from fabric.providers.cloud1.functions.function_attributes import has_known_traffic
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


class RoleUse(Struct, frozen=True):
    """The use of a role: the end of its name, the tag of its owner, the assuming services, and the
    setting that replaces it."""

    suffix: str
    noun: str
    principals: tuple[str, ...]
    instead: str = "`role` instead of `permissions`"

    @property
    def trust(self) -> str:
        services = self.principals if len(self.principals) > 1 else self.principals[0]
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": services},
            "Action": "sts:AssumeRole",
        }
        return format_json({"Version": "2012-10-17", "Statement": [statement]})


_FUNCTIONS = RoleUse("-role", "function", ("lambda.amazonaws.com",))


class OwnRole(Struct, frozen=True):
    """A role that fabric creates: for one function or workflow, or for the schedules of a
    service."""

    work: Cloud1Work
    address: DeploymentAddress
    owner: str
    use: RoleUse = _FUNCTIONS

    @property
    def name(self) -> str:
        own = format_resource_name(self.address, self.owner)
        return shorten_name(f"{own}{self.use.suffix}", _NAME_LENGTH)

    @property
    def user(self) -> str:
        is_shared = self.use.noun == "purpose"
        return "the schedules of a service" if is_shared else f"the {self.use.noun} `{self.owner}`"

    @property
    def tags(self) -> dict[str, str]:
        return {**build_ownership_tags(self.address), f"fabric:{self.use.noun}": self.owner}

    @property
    def iam(self) -> Any:
        return self.work.clients.of("iam")


class RoleState(Struct, frozen=True):
    """The ARN and the permissions of a role."""

    arn: str
    policies: RolePolicies


class KeptRole(Struct, frozen=True):
    """What state stores of a released role."""

    digest: str = ""
    arn: str = ""
    boundary: str = ""

    def format(self) -> str:
        return f"{self.digest} {self.arn} {self.boundary}".rstrip()

    def allows(self, policies: RolePolicies, boundary: str) -> bool:
        """Return whether the role has exactly these permissions."""
        return (self.digest, self.boundary) == (policies.digest, boundary)


def parse_kept_role(text: str) -> KeptRole:
    return KeptRole(*text.split(" "))


def find_kept_path(address: DeploymentAddress, path: str) -> Problem | None:
    """Return the released roles that are not below the path: AWS cannot move a role, and published
    versions contain its ARN."""
    record = address.previous
    kept = {
        name.removeprefix(_KEPT): _parse_path(parse_kept_role(text).arn)
        for name, text in (record.kept if record else ())
        if name.startswith(_KEPT)
    }
    elsewhere = [name for name, there in kept.items() if there and there != path]
    if not elsewhere:
        return None
    places = ", ".join(
        _format_role_place(there, kept) for there in sorted({kept[name] for name in elsewhere})
    )
    message = f"`iam.path` is `{path}`, but the roles of {places}"
    hint = "to move a role, remove the function, and deploy it again"
    return Problem("deploy/kept-setting", message, hint)


def _format_role_place(there: str, kept: Mapping[str, str]) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(kept) if kept[name] == there)
    return f"{names} stay at `{there}`"


def _parse_path(arn: str) -> str:
    """Return the path in the ARN of a role, such as `/` or `/shop/`."""
    return arn.partition(":role")[2].rpartition("/")[0] + "/" if ":role/" in arn else ""


def has_own_role(settings: Mapping[str, str]) -> bool:
    return _KEY in settings


def prepare_role(work: Cloud1Work, address: DeploymentAddress, order: FunctionOrder) -> str:
    """Return the ARN of the function's role, with at least the permissions of this order."""
    settings = dict(order.settings)
    if not has_own_role(settings):
        return settings.get("role") or work.own.role_arn
    role, place = OwnRole(work, address, order.name), find_place(work, address)
    wanted = build_policies(settings, order.triggers, place)
    is_new = not has_known_traffic(address, order.name)
    arn = _create_exact_role(role, wanted) if is_new else ""
    if arn:
        return arn
    work.clients.remember_role(role.name, "")
    there = _read_released_role(address, order.name, place) or open_role(role)
    grow_role(role, wanted, there)
    return there.arn


def grow_role(role: OwnRole, wanted: RolePolicies, there: RoleState) -> None:
    """Add permissions to a role that allows `there`. None is removed."""
    joined = wanted.join(there.policies)
    _refuse_long(role, joined)
    if joined.document != there.policies.document:
        put_policy(role, joined)
    for arn in joined.managed:
        if arn not in there.policies.managed:
            role.iam.attach_role_policy(RoleName=role.name, PolicyArn=arn)


def _create_exact_role(role: OwnRole, wanted: RolePolicies) -> str:
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
        last = parse_kept_role(kept.sure(_KEPT + name))
        return not last.allows(wanted[name], work.own.iam.boundary)

    def release(name: str) -> str:
        with (
            attach_error_spot(name),
            convert_client_errors(f"the role of function `{name}`", work.scope.quoted),
        ):
            role = OwnRole(work, address, name)
            digest, _, arn = work.clients.take_role(role.name).partition(" ")
            # A role that this run created has exactly the permissions of its function.
            if digest != wanted[name].digest:
                arn = replace_policies(role, wanted[name])
        return KeptRole(wanted[name].digest, arn, work.own.iam.boundary).format()

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
    run_parallel(lambda name: delete_role(OwnRole(work, address, name)), names, MAX_PARALLEL)


def find_place(work: Cloud1Work, address: DeploymentAddress) -> Arn:
    home = read_home(address)
    if home is not None:
        return home
    meta = work.functions.meta
    return Arn(meta.partition, meta.region_name, work.clients.account())


def _read_released_role(address: DeploymentAddress, function: str, place: Arn) -> RoleState | None:
    """Return the role as the last release left it. Between a deploy and its release it allows
    more, and has to be read."""
    record = address.previous.function(function) if address.previous else None
    settings = dict(record.settings) if record else {}
    if record is None or not has_own_role(settings):
        return None
    policies = build_policies(settings, record.triggers, place)
    last = parse_kept_role(read_kept_state(address).sure(_KEPT + function))
    return RoleState(last.arn, policies) if last.digest == policies.digest else None


def open_role(role: OwnRole) -> RoleState:
    """Read the role. It is created if it does not exist."""
    found = claim_role(role)
    policies = RolePolicies(tuple(_read_statements(role)), tuple(_list_attached(role)))
    return RoleState(str(found["Arn"]), policies)


def claim_role(role: OwnRole) -> Mapping[str, Any]:
    """Describe or create the role. Raises if it belongs to another owner."""
    found = _find_role(role) or _try_create(role) or _find_role(role)
    tags = {one["Key"]: one["Value"] for one in found.get("Tags", ())}
    if any(tags.get(name) != text for name, text in role.tags.items()):
        message = f"the role `{role.name}` already exists at AWS and does not belong to {role.user}"
        hint = f"delete it, or set {role.use.instead}; it was not changed"
        raise FabricError(Problem("deploy/foreign", message, hint))
    return found


def _find_role(role: OwnRole) -> Mapping[str, Any]:
    """Describe the role; empty if it does not exist."""
    found: dict[str, Any] = {}
    with ignore_codes(GONE):
        found.update(role.iam.get_role(RoleName=role.name)["Role"])
    return found


def _try_create(role: OwnRole) -> Mapping[str, Any] | None:
    """Create the role; None if it exists, possibly by an attempt whose response was lost."""
    from botocore.exceptions import ClientError

    boundary = role.work.own.iam.boundary
    tags = [{"Key": name, "Value": text} for name, text in role.tags.items()]
    try:
        answer = role.iam.create_role(
            RoleName=role.name,
            Path=role.work.own.iam.path,
            AssumeRolePolicyDocument=role.use.trust,
            Description=f"Role of {role.user}, managed by fabric".replace("`", ""),
            Tags=tags,
            **({"PermissionsBoundary": boundary} if boundary else {}),
        )
    except ClientError as error:
        if read_error_code(error) != "EntityAlreadyExists":
            raise
        return None
    role.work.scope.watch.hear(f"{role.owner}: created the role `{role.name}`")
    limit = {"PermissionsBoundary": {"PermissionsBoundaryArn": boundary}} if boundary else {}
    return {**answer["Role"], **limit, "Tags": tags}


def _read_statements(role: OwnRole) -> Iterator[str]:
    with ignore_codes(GONE):
        found = role.iam.get_role_policy(RoleName=role.name, PolicyName=_POLICY)
        document = found["PolicyDocument"]
        said = document if isinstance(document, dict) else json.loads(document)
        yield from (format_json(one) for one in said["Statement"])


def _list_attached(role: OwnRole) -> Iterator[str]:
    pages = role.iam.get_paginator("list_attached_role_policies")
    for page in pages.paginate(RoleName=role.name):
        yield from (one["PolicyArn"] for one in page["AttachedPolicies"])


def _refuse_long(role: OwnRole, policies: RolePolicies) -> None:
    if len(policies.document) > LONGEST_POLICY:
        message = (
            f"the policy of the role `{role.name}` would have {len(policies.document):,} "
            f"characters while both versions exist; the maximum is {LONGEST_POLICY:,}"
        )
        hint = "remove permissions in one deploy and add the new ones in the next, or use `*`"
        raise FabricError(Problem("deploy/policy-too-large", message, hint))


def put_policy(role: OwnRole, policies: RolePolicies) -> None:
    asked = {
        "RoleName": role.name,
        "PolicyName": _POLICY,
        "PolicyDocument": policies.document,
    }
    retry_on_conflict(role.work, lambda: role.iam.put_role_policy(**asked))


def replace_policies(role: OwnRole, wanted: RolePolicies) -> str:
    """Make the role allow exactly this, and return its ARN."""
    found = _find_role(role)
    _write_policies(role, wanted, set(_list_attached(role)))
    set_boundary(role, found)
    return str(found.get("Arn", ""))


def _write_policies(role: OwnRole, wanted: RolePolicies, attached: AbstractSet[str]) -> None:
    if wanted.document:
        put_policy(role, wanted)
    else:
        _delete_policy(role, _POLICY)
    for arn in sorted(set(wanted.managed) - attached):
        role.iam.attach_role_policy(RoleName=role.name, PolicyArn=arn)
    for arn in sorted(attached - set(wanted.managed)):
        role.iam.detach_role_policy(RoleName=role.name, PolicyArn=arn)


def set_boundary(role: OwnRole, found: Mapping[str, Any]) -> None:
    boundary = role.work.own.iam.boundary
    there = found.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn", "")
    if boundary and boundary != there:
        role.iam.put_role_permissions_boundary(RoleName=role.name, PermissionsBoundary=boundary)
    if there and not boundary:
        role.iam.delete_role_permissions_boundary(RoleName=role.name)


def _delete_policy(role: OwnRole, name: str) -> None:
    with ignore_codes(GONE):
        role.iam.delete_role_policy(RoleName=role.name, PolicyName=name)


def delete_role(role: OwnRole) -> None:
    found = _find_role(role)
    tags = {one["Key"]: one["Value"] for one in found.get("Tags", ())}
    if any(tags.get(name) != text for name, text in role.tags.items()):
        return
    for arn in list(_list_attached(role)):
        role.iam.detach_role_policy(RoleName=role.name, PolicyArn=arn)
    _delete_policy(role, _POLICY)
    with ignore_codes(GONE):
        role.iam.delete_role(RoleName=role.name)
    role.work.scope.watch.hear(f"{role.owner}: deleted the role `{role.name}`")
