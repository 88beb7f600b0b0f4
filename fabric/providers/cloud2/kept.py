"""What the last release left for this one, and how far it can be taken for granted."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.records.record import DOUBT, Record
from fabric.providers.cloud2.own_settings import Cloud2Place, place_in
from fabric.providers.contract import DeploymentAddress

# Of each function: the revision that is met, who may call it, and its clocks.
REVISION, CALLERS, CLOCKS = "revision:", "callers:", "clocks:"


class KeptTexts(Struct, frozen=True):
    """Only where `is_sure` does it say how things are now."""

    texts: Mapping[str, str]
    is_sure: bool = True

    def sure(self, name: str) -> str | None:
        """None where nobody knows."""
        return self.texts.get(name, "") if self.is_sure else None

    def names(self, name: str) -> tuple[str, ...]:
        """A list of then, sure or not."""
        return tuple(self.texts.get(name, "").split())

    def of_functions(self, names: Iterable[str]) -> dict[str, str]:
        """All that is kept of these."""
        ends = tuple(f":{name}" for name in names)
        return {name: text for name, text in self.texts.items() if name.endswith(ends)}


def kept_texts(address: DeploymentAddress) -> KeptTexts:
    record = address.previous
    if record is None:
        return KeptTexts({})
    texts = {name: text for name, text in record.kept if name != DOUBT[0]}
    return KeptTexts(texts, DOUBT not in record.kept)


def other_place(
    record: Record, place: Cloud2Place, *, is_region_known: bool = True
) -> Problem | None:
    """Where nothing names a project, that is told with the credentials that are missing."""
    places = [place_in(one.resource_id) for one in record.functions]
    other = [
        one
        for one in places
        if one and (one != place if is_region_known else one.project != place.project)
    ]
    if not other or not place.project:
        return None
    then = other[0].path
    message = (
        f"{record.ref.title} lies in `{then}`, and `{place.path}` is meant: nothing was changed "
        "in either"
    )
    hint = (
        "set `CLOUD2_PROJECT_ID` and the region to those; to move the service, `fabric remove` it "
        "there, and deploy it here then"
    )
    return Problem("deploy/other-account", message, hint)
