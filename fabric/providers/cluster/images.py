"""Images of functions in the registry of `extensions.cluster-orchestrator.registry`."""

from collections.abc import Sequence

from msgspec.structs import replace

from fabric.model.builds.image_names import require_reference
from fabric.providers.cluster.applying import ClusterWork
from fabric.providers.cluster.objects import build_object_name
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.images import push_order
from fabric.providers.core.retry import run_parallel

_MAX_PARALLEL = 4


def push_images(work: ClusterWork, orders: Sequence[FunctionOrder]) -> Sequence[FunctionOrder]:
    """Push the images of these orders, and return the orders with the addresses of the images."""

    def push(order: FunctionOrder) -> FunctionOrder:
        image = order.artifact.image
        if image is None or image.pushed or work.open_registries is None:
            return order
        name = build_object_name(work.address, order.name)
        target = require_reference(f"{work.own.registry}/{name}")
        pushed = push_order(
            work.open_registries(), target.registry, target.repository, order, work.scope.watch
        )
        artifact = replace(order.artifact, image=replace(image, pushed=pushed))
        return replace(order, artifact=artifact)

    return run_parallel(push, orders, _MAX_PARALLEL)
