"""Permissions that a config gives its functions' role, as one separate policy per service."""

from typing import Any

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.answers import DENIED, GONE, ignore_codes
from fabric.providers.cloud1.release_state import StoredReleaseState
from fabric.providers.cloud1.versions import Cloud1Work, retry_on_conflict
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.payloads import format_json, read_role_statements
from fabric.providers.core.triggers import shorten_name
from fabric.system.cloud1_account import REFUSED, read_error_code

_KEPT = "statements"
_NAME_LENGTH = 128
_PLURALS = {"actions": "Action", "resources": "Resource"}


class RolePolicy(Struct, frozen=True):
    role: str
    name: str
    text: str

    def format_fingerprint(self, salt: str) -> str:
        return f"{self.role} {hash_fields((salt, self.text))}"


def set_statements(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState
) -> dict[str, str]:
    """Write the policy and return the values to store."""
    policy = _build_policy(work, address)
    said = policy.format_fingerprint(kept.salt) if policy.text else ""
    was = kept.texts.get(_KEPT, "")
    if policy.text and kept.sure(_KEPT) != said:
        _put(work, policy)
        work.watch.hear(f"role {policy.role}: policy `{policy.name}` now matches the config")
    if was and (not policy.text or _read_role(was) != policy.role):
        _delete(work, _read_role(was), policy.name)
    return {_KEPT: said} if said else {}


def drop_statements(work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState) -> None:
    """Delete the policy, also one of an interrupted release that did not store it. Without
    permission to read it, there is none."""
    policy, known = _build_policy(work, address), _read_role(kept.texts.get(_KEPT, ""))
    if known:
        _delete(work, known, policy.name)
    if not kept.is_sure and policy.role not in ("", known):
        with ignore_codes(REFUSED):
            _delete(work, policy.role, policy.name)


def _read_role(kept: str) -> str:
    return kept.partition(" ")[0]


def _build_policy(work: Cloud1Work, address: DeploymentAddress) -> RolePolicy:
    role = work.own.role_arn.rpartition("/")[2]
    name = shorten_name(f"fabric-{address.service}-{address.stage}", _NAME_LENGTH)
    statements = [_build_statement(one) for one in read_role_statements(address.extension)]
    document = {"Version": "2012-10-17", "Statement": statements}
    return RolePolicy(role, name, format_json(document) if statements else "")


def _build_statement(said: Any) -> dict[str, object]:
    """Build a statement. Keys that the schema leaves open are AWS keys, capitalized."""
    return {_PLURALS.get(name, name[:1].upper() + name[1:]): one for name, one in said.items()}


def _put(work: Cloud1Work, policy: RolePolicy) -> None:
    from botocore.exceptions import ClientError

    asked = {"RoleName": policy.role, "PolicyName": policy.name, "PolicyDocument": policy.text}
    try:
        retry_on_conflict(work, lambda: work.clients.of("iam").put_role_policy(**asked))
    except ClientError as error:
        if read_error_code(error) not in DENIED:
            raise
        raise FabricError(_permission_problem(policy)) from error


def _permission_problem(policy: RolePolicy) -> Problem:
    message = (
        f"permission denied: cannot put the policy `{policy.name}` on the role `{policy.role}`"
    )
    hint = (
        "allow `iam:PutRolePolicy` and `iam:DeleteRolePolicy` on the role, or add this policy "
        f"yourself and remove `iam.role.statements` from the config: {policy.text}"
    )
    return Problem("credentials/refused", message, hint)


def _delete(work: Cloud1Work, role: str, name: str) -> None:
    asked = {"RoleName": role, "PolicyName": name}
    with ignore_codes(GONE):
        retry_on_conflict(work, lambda: work.clients.of("iam").delete_role_policy(**asked))
