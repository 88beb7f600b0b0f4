"""The state of the last release: its stored values, and the place where it is deployed."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.records.record import RELEASE_UNCERTAIN, Record
from fabric.providers.core.contract import DeploymentAddress


class ReleaseState(Struct, frozen=True):
    """The stored values of the last release. They describe the deployed state only if `is_sure` is
    true."""

    texts: Mapping[str, str]
    is_sure: bool = True

    def sure(self, name: str) -> str | None:
        """Return a stored value, or None if it cannot be trusted."""
        return self.texts.get(name, "") if self.is_sure else None

    def of_functions(self, names: Iterable[str]) -> dict[str, str]:
        """Return all stored values of these functions."""
        ends = tuple(f":{name}" for name in names)
        return {name: text for name, text in self.texts.items() if name.endswith(ends)}

    def of_leaving(self, address: DeploymentAddress, staying: frozenset[str]) -> dict[str, str]:
        """Return the values of functions that the config no longer contains; they are deleted after
        a release."""
        record = address.previous
        names = [one.name for one in record.functions] if record else []
        return self.of_functions(name for name in names if name not in staying)


def read_kept_texts(address: DeploymentAddress) -> ReleaseState:
    record = address.previous
    if record is None:
        return ReleaseState({})
    texts = {name: text for name, text in record.kept if name != RELEASE_UNCERTAIN[0]}
    return ReleaseState(texts, RELEASE_UNCERTAIN not in record.kept)


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


def other_place_problem(record: Record, there: str, here: str, hint: str) -> Problem:
    """Refuse to change a service that is deployed somewhere else."""
    message = (
        f"refusing to change {record.ref.title}: it is deployed {there}, {here}; nothing was "
        "changed"
    )
    return Problem("deploy/other-place", message, hint)
