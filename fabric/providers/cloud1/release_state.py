"""The values that the last release stored for the next one, and whether they can be trusted."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.records.record import RELEASE_UNCERTAIN
from fabric.providers.core.contract import DeploymentAddress


class StoredReleaseState(Struct, frozen=True):
    """The stored values of the last release. Names always identify resources; they describe the
    current state only if `is_sure` is true."""

    texts: Mapping[str, str]
    is_sure: bool = True
    salt: str = ""

    def sure(self, name: str) -> str:
        return self.texts.get(name, "") if self.is_sure else ""

    def of_functions(self, names: Iterable[str]) -> dict[str, str]:
        """Return all stored values of these functions."""
        ends = tuple(f":{name}" for name in names)
        return {name: text for name, text in self.texts.items() if name.endswith(ends)}


def read_kept_state(address: DeploymentAddress) -> StoredReleaseState:
    record = address.previous
    if record is None:
        return StoredReleaseState({})
    texts = {name: text for name, text in record.kept if name != RELEASE_UNCERTAIN[0]}
    return StoredReleaseState(texts, RELEASE_UNCERTAIN not in record.kept, record.salt)
