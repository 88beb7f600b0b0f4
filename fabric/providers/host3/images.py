"""The image of machines, for a service whose files do not fit into the config of a machine: a layer
for the server, and one for each function, on the public image of the runtime."""

from collections.abc import Callable, Iterable, Sequence

from fabric.providers.core.images import delete_image
from fabric.providers.host3.client import Host3Work
from fabric.providers.host3.documents import MachineContent
from fabric.providers.host3.machines import MachineRow
from fabric.system.registries.bases import BaseQuery, read_current_base
from fabric.system.registries.images import build_image
from fabric.system.registries.layers import write_layer
from fabric.system.registries.push import PushOrder, list_blobs

# Machines of Fly have this architecture only.
_ARCHITECTURE = "x86_64"


def build_machine_image(work: Host3Work, content: MachineContent) -> PushOrder:
    """Build the image of these files. Reads the base at its registry."""
    base = read_current_base(work.open_registries(), BaseQuery(content.image, _ARCHITECTURE))
    layers = [write_layer(group, "") for group in content.files]
    image = build_image(base, [one.row for one in layers])
    blobs = {one.digest: one.content for one in layers}
    blobs[list_blobs(image.manifest)[-1]] = image.config

    def read(digest: str) -> Callable[[], bytes]:
        return lambda: blobs[digest]

    return PushOrder(
        registry=work.api.account.registry,
        repository=work.app,
        manifest=image.manifest,
        digest=image.digest,
        contents={digest: read(digest) for digest in blobs},
        base=base.reference,
    )


def delete_unused_images(
    work: Host3Work, deleted: Iterable[MachineRow], left: Sequence[MachineRow]
) -> None:
    """Delete the images of deleted machines at the registry of the app, which can refuse that."""
    own = f"{work.api.account.registry}/{work.app}@"
    used = {one.image for one in left}
    unused = {one.image for one in deleted if one.image.startswith(own)} - used
    for image in sorted(unused):
        work.watch.hear(delete_image(work.open_registries(), image))
