"""Images of functions in the registry of `extensions.cluster-orchestrator.registry`."""

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fabric.model.image_names import require_reference
from fabric.model.problems import Problem
from fabric.providers.cluster.applying import ClusterWork
from fabric.providers.cluster.objects import build_object_name
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.images import delete_image, push_order
from fabric.providers.core.retry import run_parallel

_MAX_PARALLEL = 4
_REGISTRY = re.compile(r"[^/]*[.:][^/]*/.+|localhost/.+|[^/]*[.:][^/]*")


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


def is_registry(text: str) -> bool:
    """Return whether the text names a registry, possibly with a path."""
    return _REGISTRY.fullmatch(text) is not None


def delete_images(work: ClusterWork, names: Iterable[str]) -> None:
    """Delete the images of these functions, also those of earlier deployments. A registry can
    refuse that, which is reported only."""
    gone = frozenset(names)
    images = dict.fromkeys(one for one in _list_images(work, gone) if one)
    if images and work.open_registries is not None:
        registries = work.open_registries()
        for image in images:
            work.scope.watch.hear(delete_image(registries, image))


def _list_images(work: ClusterWork, names: frozenset[str]) -> Iterable[str]:
    record = work.address.previous
    past = [one for then in record.history for one in then.functions] if record else []
    rows = (*record.functions, *past) if record else ()
    return (one.image for one in rows if one.name in names)


def missing_registry_problem(registry: str) -> Problem:
    message = (
        f"invalid `registry`: `{registry}`"
        if registry
        else "functions with `package.type: image` require `registry`"
    )
    hint = "set `extensions.cluster-orchestrator.registry`, such as registry.example.com/team"
    return Problem("config/unfit", message, hint)
