"""The values that a release stores for the next one, and its result."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from fabric.model.records.record import RELEASE_UNCERTAIN
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.triggers import strip_endpoint_path


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


def build_released(
    functions: Sequence[LiveFunction],
    kept: Mapping[str, str],
    read_resource: Callable[[LiveFunction], str],
) -> Released:
    """Build the result of a release whose functions have separate endpoints.

    The service has an endpoint only if exactly one function is public: the base URL of its paths.
    """
    public = [one for one in functions if one.endpoint]
    only = strip_endpoint_path(public[0].endpoint, public[0].triggers) if len(public) == 1 else ""
    outputs = {"url": only}
    for one in functions:
        outputs[f"url_{one.name}"] = one.endpoint
        outputs[f"arn_{one.name}"] = read_resource(one)
    shown = tuple((name, text) for name, text in outputs.items() if text)
    return Released(only, shown, tuple(kept.items()))
