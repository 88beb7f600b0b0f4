"""Images at the registry of a provider: push them, and delete them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.builds.image_names import require_reference
from fabric.model.problems import FabricError
from fabric.model.records.record import Record
from fabric.model.text.amounts import format_count
from fabric.providers.core.contract import CallContext, FunctionOrder
from fabric.providers.core.serving import SERVER_FOLDER, ServerRuntime
from fabric.system.registries.images import BaseImage, build_image
from fabric.system.registries.layers import write_layer
from fabric.system.registries.push import PushOrder, Registries, list_blobs, push_image
from fabric.system.registries.registry import Registry


class _ServerFile(Struct, frozen=True):
    path: str
    content: bytes
    executable: bool = False


def push_order(
    registries: Registries,
    registry: str,
    repository: str,
    order: FunctionOrder,
    watch: CallContext,
) -> str:
    """Push the image of an order and return its address with the digest."""
    push = _build_push(registry, repository, order)
    return push_and_report(registries, push, order.name, watch)


def build_push_with_server(target: str, order: FunctionOrder, runtime: ServerRuntime) -> PushOrder:
    """Build the image of an order with fabric's server, which is a separate layer."""
    found = require_reference(target)
    push = _build_push(found.registry, found.repository, order)
    config = push.contents[list_blobs(push.manifest)[-1]]()
    files = [_ServerFile(f"{SERVER_FOLDER}/{path}", text.encode()) for path, text in runtime.files]
    layer = write_layer(files, "")
    image = build_image(BaseImage(push.base, push.manifest, config), [layer.row])
    own = {layer.digest: layer.content, list_blobs(image.manifest)[-1]: image.config}
    contents = {**push.contents, **{digest: partial(bytes, text) for digest, text in own.items()}}
    return replace(push, manifest=image.manifest, digest=image.digest, contents=contents)


def _build_push(registry: str, repository: str, order: FunctionOrder) -> PushOrder:
    image = order.artifact.image
    if image is None:
        raise TypeError(f"{order.name} has no image")
    return PushOrder(
        registry=registry,
        repository=repository,
        manifest=image.manifest,
        digest=image.digest,
        contents=image.contents,
        base=image.base,
    )


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


def delete_recorded_images(
    open_registries: Callable[[], Registries],
    record: Record | None,
    names: Iterable[str],
    watch: CallContext,
) -> None:
    """Delete the images of these functions, also those of earlier deployments. A registry can
    refuse that, which is reported only."""
    gone = frozenset(names)
    for image in dict.fromkeys(one for one in _list_images(record, gone) if one):
        watch.hear(delete_image(open_registries(), image))


def _list_images(record: Record | None, names: frozenset[str]) -> Iterator[str]:
    past = [one for then in record.history for one in then.functions] if record else []
    rows = (*record.functions, *past) if record else ()
    yield from (one.image for one in rows if one.name in names)


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
