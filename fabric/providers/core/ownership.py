"""Owners of resources at providers, and problems about resources and places of others."""

from collections.abc import Iterable
from typing import Self

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.providers.core.contract import DeploymentAddress

OWNER = "fabric-owner"
_LABEL_LENGTH = 16


class FunctionOwner(Struct, frozen=True):
    """The owner of a resource: a function of a service in a stage."""

    service: str
    stage: str
    function: str

    @property
    def title(self) -> str:
        return f"{self.service}/{self.stage}/{self.function}"

    @property
    def label(self) -> str:
        """The owner as a label value, which must be short and lowercase."""
        return hash_fields((self.service, self.stage, self.function))[:_LABEL_LENGTH]

    def describe(self, title: str = "") -> str:
        """Format the owner as a description, for resources without labels."""
        return f"{title or self.title}, deployed by fabric ({OWNER}={self.label})"

    def is_in(self, description: str) -> bool:
        return f"({OWNER}={self.label})" in description


def build_owner(address: DeploymentAddress, function: str) -> FunctionOwner:
    return FunctionOwner(address.service, address.stage, function)


def foreign_resource_problem(kind: str, name: str, owner: str) -> Problem:
    message = f"the {kind} `{name}` already exists and does not belong to {owner}"
    hint = "delete it manually, or rename the service; it was not changed"
    return Problem("deploy/foreign", message, hint)


class CurrentOwner(Struct, frozen=True):
    """What services belong to at a provider, such as an account. `variable` names the current
    one."""

    kind: str
    variable: str
    value: str


def find_owner_conflict(record: Record, noted: Iterable[str], now: CurrentOwner) -> Problem | None:
    """Return a problem if the record belongs to another owner. A missing owner is reported with the
    missing credentials."""
    owners = {dict(record.kept).get(now.kind, ""), *noted} - {"", now.value}
    if not owners or not now.value:
        return None
    then = min(owners)
    hint = (
        f"set `{now.variable}` to `{then}`, or run `fabric remove` there before you deploy "
        "elsewhere"
    )
    here = f"and `{now.variable}` is `{now.value}`"
    return other_place_problem(record, f"in the {now.kind} `{then}`", here, hint)


class RegionalPlace(Struct, frozen=True):
    """An account and a region of a provider."""

    region: str

    @property
    def title(self) -> str:
        """The place with its preposition, as in a message."""
        raise NotImplementedError

    def differs_from(self, other: Self, *, is_region_known: bool) -> bool:
        raise NotImplementedError


def other_place_problem(record: Record, there: str, here: str, hint: str) -> Problem:
    """Refuse to change a service that is deployed somewhere else."""
    message = (
        f"refusing to change {record.ref.title}: it is deployed {there}, {here}; nothing was "
        "changed"
    )
    return Problem("deploy/other-place", message, hint)
