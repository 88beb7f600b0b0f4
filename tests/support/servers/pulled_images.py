"""Images of a registry on this machine, read as providers do, with the standard library."""

import gzip
import hashlib
import io
import json
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)


class NotThereError(Exception):
    """The registry has no such manifest or blob."""


@dataclass(frozen=True)
class PulledFile:
    path: str
    content: bytes
    mode: int


@dataclass(frozen=True)
class PulledImage:
    """`kind` is the type of its manifest; of an index nothing else is known."""

    kind: str
    config: dict[str, Any]
    layers: tuple[bytes, ...]

    def files(self, folder: str) -> Iterator[PulledFile]:
        """The files below a folder, the last layer first to win."""
        found: dict[str, PulledFile] = {}
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layer))) as archive:
                for one in archive:
                    content = archive.extractfile(one) if one.isreg() else None
                    if content and one.name.startswith(f"{folder}/"):
                        path = one.name.removeprefix(f"{folder}/")
                        found[path] = PulledFile(path, content.read(), one.mode)
        yield from (found[path] for path in sorted(found))


def pull(reference: str) -> PulledImage:
    """An image by its digest. Every blob is compared with its digest."""
    name, _, digest = reference.partition("@")
    registry, _, repository = name.partition("/")
    top = f"http://{registry}/v2/{repository}"
    kind, manifest = _fetch(f"{top}/manifests/{digest}", digest)
    document = json.loads(manifest)
    if "layers" not in document:
        return PulledImage(kind, {}, ())
    blobs = [
        _fetch(f"{top}/blobs/{one['digest']}", one["digest"])[1]
        for one in (document["config"], *document["layers"])
    ]
    return PulledImage(kind, json.loads(blobs[0]), tuple(blobs[1:]))


def _fetch(url: str, digest: str) -> tuple[str, bytes]:
    request = urllib.request.Request(url, headers={"Accept": ", ".join(_TYPES)})  # noqa: S310
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            content = answer.read()
            kind = answer.headers.get("Content-Type", "")
    except urllib.error.HTTPError as error:
        raise NotThereError(url) from error
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
        raise NotThereError(f"{url} has other bytes")
    return kind, content
