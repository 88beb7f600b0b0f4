"""What the last release left for this one, and how far it can be taken for granted."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.records.record import DOUBT
from fabric.providers.contract import DeploymentAddress


class KeptState(Struct, frozen=True):
    """Names in it lead to what was made. Only where `is_sure` does it also say how that is now."""

    texts: Mapping[str, str]
    is_sure: bool = True
    salt: str = ""

    def sure(self, name: str) -> str:
        return self.texts.get(name, "") if self.is_sure else ""

    def of_functions(self, names: Iterable[str]) -> dict[str, str]:
        """All that is kept of these."""
        ends = tuple(f":{name}" for name in names)
        return {name: text for name, text in self.texts.items() if name.endswith(ends)}


def kept_in(address: DeploymentAddress) -> KeptState:
    record = address.previous
    if record is None:
        return KeptState({})
    texts = {name: text for name, text in record.kept if name != DOUBT[0]}
    return KeptState(texts, DOUBT not in record.kept, record.salt)
