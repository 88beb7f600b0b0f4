"""Push the image of an order to a registry of the provider."""

from fabric.model.amounts import format_count
from fabric.providers.core.contract import CallContext, FunctionOrder
from fabric.system.registries.push import PushOrder, Registries, push_image


def push_order(
    registries: Registries,
    registry: str,
    repository: str,
    order: FunctionOrder,
    watch: CallContext,
) -> str:
    """Push the image of an order and return its address with the digest."""
    image = order.artifact.image
    if image is None:
        raise TypeError(f"{order.name} has no image")
    count = push_image(
        registries,
        PushOrder(
            registry=registry,
            repository=repository,
            manifest=image.manifest,
            digest=image.digest,
            contents=image.contents,
            base=image.base,
        ),
    )
    if count:
        words = format_count(count, "new blob")
        watch.hear(f"{order.name}: pushed {image.digest[:19]} to {registry}/{repository} ({words})")
    return f"{registry}/{repository}@{image.digest}"
