"""Images at the registry of a provider: push them, and delete them."""

from fabric.model.amounts import format_count
from fabric.model.image_names import require_reference
from fabric.model.problems import FabricError
from fabric.providers.core.contract import CallContext, FunctionOrder
from fabric.system.registries.push import PushOrder, Registries, push_image
from fabric.system.registries.registry import Registry


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
    push = PushOrder(
        registry=registry,
        repository=repository,
        manifest=image.manifest,
        digest=image.digest,
        contents=image.contents,
        base=image.base,
    )
    return push_and_report(registries, push, order.name, watch)


def push_and_report(
    registries: Registries, order: PushOrder, whose: str, watch: CallContext
) -> str:
    """Push an image, report that, and return its address with the digest."""
    count = push_image(registries, order)
    if count:
        words = format_count(count, "new blob")
        target = f"{order.registry}/{order.repository}"
        watch.hear(f"{whose}: pushed {order.digest[:19]} to {target} ({words})")
    return order.address


def delete_image(registries: Registries, image: str) -> str:
    """Delete an image and return what to report: a registry can refuse it."""
    found = require_reference(image)

    def delete(registry: Registry) -> bool:
        return registry.delete_manifest(found.repository, found.digest)

    try:
        is_deleted = registries.call(found.registry, delete)
    except FabricError as error:
        return f"the image {image} was not deleted: {error.first.message}"
    return f"{'deleted the image' if is_deleted else 'the registry keeps the image'} {image}"
