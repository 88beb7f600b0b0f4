"""A provider that touches nothing: it answers what the real one would be called."""

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.model.catalog import Unit
from fabric.model.task import Pairs
from fabric.providers.contract import Deployed, FunctionOrder, Live, Released, Site
from fabric.providers.naming import function_endpoint, resource_name

DEFAULT_REGION = "local"


@dataclass(frozen=True, slots=True)
class Simulated:
    """Names follow from the site alone: the same question has the same answer on any machine."""

    unit: Unit

    def deploy(self, site: Site, functions: Sequence[FunctionOrder]) -> Deployed:
        return Deployed(tuple(_live(site, order) for order in functions))

    def release(self, site: Site, functions: Sequence[Live], given: Pairs) -> Released:
        endpoint = _endpoint(site)
        outputs = {"url": endpoint, "region": _region(site), **dict(given)}
        for one in functions:
            if one.endpoint:
                outputs[f"url_{one.name}"] = one.endpoint
            outputs[f"arn_{one.name}"] = one.resource_id
        return Released(endpoint, tuple(outputs.items()))

    def destroy(self, site: Site, functions: Sequence[Live]) -> str:  # noqa: ARG002 - the protocol
        return ""

    def dissolve(self, site: Site, functions: Sequence[Live]) -> str:  # noqa: ARG002 - the protocol
        return ""

    def find(self, site: Site, function: str) -> Live | None:  # noqa: ARG002 - the protocol
        """There is nobody to ask: what is simulated stands in the record only."""
        return None


def _live(site: Site, order: FunctionOrder) -> Live:
    name = resource_name(site, order.name)
    return Live(
        name=order.name,
        resource_name=name,
        resource_id=f"{site.provider_id}:{_region(site)}:function:{name}",
        endpoint=function_endpoint(_endpoint(site), order),
        artifact_sha256=order.artifact.sha256,
    )


def _endpoint(site: Site) -> str:
    return f"https://{site.service}-{site.stage}.{site.provider_id}.fabric.example"


def _region(site: Site) -> str:
    return site.region or DEFAULT_REGION
