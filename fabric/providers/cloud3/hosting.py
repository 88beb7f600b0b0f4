"""The plans of Azure Functions: sizes and limits, and how an app on each is described."""

from collections.abc import Mapping

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject

FLEX = "FC1"
# The package that an app runs, on plans without a container of packages.
PACKAGE_SETTING = "WEBSITE_RUN_FROM_PACKAGE"
_GIGABYTE = 1024


class Hosting(Struct, frozen=True, kw_only=True):
    """The plan of an app by its SKU. `memory` lists the sizes of an instance, in MB; `seconds` is
    the longest timeout."""

    sku: str
    tier: str
    title: str
    memory: tuple[int, ...]
    seconds: int
    instances: tuple[int, int]

    @property
    def is_flex(self) -> bool:
        return self.sku == FLEX

    def choose_memory(self, asked: int) -> int:
        """Choose the smallest size that is sufficient."""
        return next((size for size in self.memory if size >= asked), self.memory[-1])

    def describe_plan(self, region: str, tags: JsonObject) -> JsonObject:
        return {
            "location": region,
            "kind": "elastic" if self.tier == "ElasticPremium" else "functionapp",
            "tags": tags,
            "sku": {"tier": self.tier, "name": self.sku},
            "properties": {"reserved": True},
        }


def _premium(number: int, gigabytes: float) -> Hosting:
    return Hosting(
        sku=f"EP{number}",
        tier="ElasticPremium",
        title="the Premium plan",
        memory=(int(gigabytes * _GIGABYTE),),
        seconds=1800,
        instances=(1, 100),
    )


HOSTINGS: Mapping[str, Hosting] = {
    one.sku: one
    for one in (
        Hosting(
            sku=FLEX,
            tier="FlexConsumption",
            title="the Flex Consumption plan",
            memory=(512, 2048, 4096),
            seconds=1800,
            instances=(40, 1000),
        ),
        Hosting(
            sku="Y1",
            tier="Dynamic",
            title="the Consumption plan",
            memory=(1536,),
            seconds=590,
            instances=(1, 100),
        ),
        *(_premium(number, size) for number, size in ((1, 3.5), (2, 7), (3, 14))),
    )
}
