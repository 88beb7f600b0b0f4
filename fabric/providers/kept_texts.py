"""What the last release left for the next call, and how far it can be taken for granted."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.records.record import DOUBT
from fabric.providers.contract import DeploymentAddress


class KeptTexts(Struct, frozen=True):
    """Only where `is_sure` does it say how things are now."""

    texts: Mapping[str, str]
    is_sure: bool = True

    def sure(self, name: str) -> str | None:
        """None where nobody knows."""
        return self.texts.get(name, "") if self.is_sure else None

    def of_functions(self, names: Iterable[str]) -> dict[str, str]:
        """All that is kept of these."""
        ends = tuple(f":{name}" for name in names)
        return {name: text for name, text in self.texts.items() if name.endswith(ends)}

    def of_leaving(self, address: DeploymentAddress, staying: frozenset[str]) -> dict[str, str]:
        """Of functions that nobody asks for any more: they are taken away after a release."""
        record = address.previous
        names = [one.name for one in record.functions] if record else []
        return self.of_functions(name for name in names if name not in staying)


def kept_texts(address: DeploymentAddress) -> KeptTexts:
    record = address.previous
    if record is None:
        return KeptTexts({})
    texts = {name: text for name, text in record.kept if name != DOUBT[0]}
    return KeptTexts(texts, DOUBT not in record.kept)
