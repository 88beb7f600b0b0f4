"""Permissions to invoke a function on Google Cloud: the public, schedules, and members added
outside fabric."""

from collections.abc import Collection

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from fabric.providers.cloud2.api import RUN
from fabric.providers.cloud2.work import Cloud2Work
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.retry import poll_until

EVERYBODY = "allUsers"
_READY = "/.fabric/ready"
_ROLE = "roles/run.invoker"
# Conditions are told only to who asks so.
_ASKED = "options.requestedPolicyVersion=3"


class _PolicyRow(Struct, frozen=True, omit_defaults=True):
    role: str
    members: tuple[str, ...] = ()
    condition: Raw | None = None


class _Policy(Struct, frozen=True, rename="camel", omit_defaults=True):
    """An IAM policy."""

    version: int = 0
    etag: str = ""
    bindings: tuple[_PolicyRow, ...] = ()
    # Written back unchanged.
    audit_configs: tuple[Raw, ...] = field(default_factory=tuple)


def format_account_member(email: str) -> str:
    return f"serviceAccount:{email}"


def let_call(
    work: Cloud2Work, name: str, members: Collection[str], others: Collection[str]
) -> bool:
    """Grant these members the permission, and revoke it from `others`; all remaining members keep
    it. Returns whether the policy changed."""
    service = f"/v2/{work.place.service(name)}"

    def act(work: Cloud2Work) -> bool:
        look = ProviderCall("GET", f"{service}:getIamPolicy?{_ASKED}")
        policy = work.api.once(RUN, look, _Policy)
        there = {one for row in policy.bindings if _is_plain(row) for one in row.members}
        wanted = (there - set(others)) | set(members)
        if wanted == there:
            return False
        document = {"policy": _with(policy, wanted)}
        work.api.once(RUN, build_json_call("POST", f"{service}:setIamPolicy", document), object)
        return True

    return work.trying(act)


def is_open(work: Cloud2Work, uri: str) -> bool:
    """Return whether a new public permission has reached the function's endpoint. The server around
    the handler answers, so the handler is not called."""
    found = poll_until(lambda: work.api.meets(uri + _READY) or None, work.waiting, work.watch)
    return found is not None


def _is_plain(row: _PolicyRow) -> bool:
    return row.role == _ROLE and row.condition is None


def _with(policy: _Policy, members: Collection[str]) -> _Policy:
    rest = tuple(row for row in policy.bindings if not _is_plain(row))
    own = (_PolicyRow(_ROLE, tuple(sorted(members))),) if members else ()
    return replace(policy, bindings=(*rest, *own))
