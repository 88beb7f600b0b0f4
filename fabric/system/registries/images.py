"""An image from its base, its layers and its start: config, manifest and OCI layout."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.builds.image_names import CODE_FOLDER
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Problem
from fabric.system.registries.layers import LAYER_TYPE, LayerRow

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
_EPOCH = "1970-01-01T00:00:00Z"
# Docker's names of layers, which a manifest of OCI names otherwise.
_LAYER_TYPES = {
    "application/vnd.docker.image.rootfs.diff.tar.gzip": LAYER_TYPE,
    "application/vnd.docker.image.rootfs.diff.tar": "application/vnd.oci.image.layer.v1.tar",
}
# The starter of handlers in Python for images that have none.
_PYTHON_CLIENT = "awslambdaric/__main__.py"
Document = dict[str, Any]


class BaseImage(Struct, frozen=True):
    """The manifest and config of a base image for one platform."""

    # Pinned by digest.
    reference: str
    manifest: bytes
    config: bytes


class ImageStart(Struct, frozen=True):
    """How the function is started."""

    handler: str
    runtime: str
    architecture: str
    # Paths in the function and its packages.
    paths: frozenset[str] = frozenset()


class Image(Struct, frozen=True):
    """The documents of an image. `identity` does not depend on the zlib version."""

    manifest: bytes
    config: bytes
    identity: Digest

    @property
    def digest(self) -> str:
        return f"sha256:{hash_bytes(self.manifest)}"


def build_image(
    base: BaseImage, layers: Sequence[LayerRow], start: ImageStart | None = None
) -> Image:
    """Build the documents of an image. Without `start` it starts as the base does."""
    under, over = _decode(base.config), _decode(base.manifest)
    settings = _build_settings(under.get("config") or {}, start)
    diff_ids = [one.diff_id for one in layers]
    config = _encode(
        {
            "architecture": under.get("architecture", start.architecture if start else ""),
            "os": "linux",
            **({"variant": under["variant"]} if under.get("variant") else {}),
            "created": _EPOCH,
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [*_list_diff_ids(under), *diff_ids]},
            **_extend_history(under, len(layers)),
        }
    )
    rows = [{**one, "mediaType": _name_layer_type(one)} for one in over["layers"]]
    manifest = _encode(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _describe(_CONFIG_TYPE, f"sha256:{hash_bytes(config)}", len(config)),
            "layers": [*rows, *(_describe(LAYER_TYPE, one.digest, one.size) for one in layers)],
        }
    )
    return Image(manifest, config, hash_fields((config.decode(),)))


def _extend_history(under: Mapping[str, Any], count: int) -> Document:
    """Add our layers to the history of the base, which need not have one."""
    history = list(under.get("history") or ())
    own = [{"created": _EPOCH, "created_by": "fabric"}] * count
    return {"history": [*history, *own]} if history else {}


def _build_settings(under: Mapping[str, Any], start: ImageStart | None) -> Document:
    """Keep the settings of the base, and start the handler in the directory of the code."""
    kept = {name: value for name, value in under.items() if value is not None}
    if start is None:
        return kept
    entrypoint = under.get("Entrypoint") or _choose_entrypoint(start)
    return {
        **kept,
        **({"Entrypoint": entrypoint} if entrypoint else {}),
        "Cmd": [start.handler],
        "WorkingDir": f"/{CODE_FOLDER}",
    }


def _choose_entrypoint(start: ImageStart) -> list[str]:
    if start.runtime.startswith("python") and _PYTHON_CLIENT in start.paths:
        return ["python3", "-m", "awslambdaric"]
    return []


def has_entrypoint(image: Image) -> bool:
    return bool(_decode(image.config)["config"].get("Entrypoint"))


def _name_layer_type(row: Mapping[str, Any]) -> str:
    kind = str(row.get("mediaType", ""))
    return _LAYER_TYPES.get(kind, kind)


def build_layout(image: Image, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Build the files of an OCI layout. Layers of the base are not in it."""
    index = {
        "schemaVersion": 2,
        "mediaType": _INDEX_TYPE,
        "manifests": [
            {
                **_describe(MANIFEST_TYPE, image.digest, len(image.manifest)),
                "annotations": {"org.opencontainers.image.ref.name": "latest"},
            }
        ],
    }
    blobs = {
        **contents,
        image.digest: image.manifest,
        f"sha256:{hash_bytes(image.config)}": image.config,
    }
    return {
        "oci-layout": _encode({"imageLayoutVersion": "1.0.0"}),
        "index.json": _encode(index),
        **{locate_blob(digest): content for digest, content in sorted(blobs.items())},
    }


def locate_blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/', 1)}"


def read_architecture(base: BaseImage) -> str:
    return str(_decode(base.config).get("architecture", ""))


def check_base(base: BaseImage) -> BaseImage:
    """Raise for a base that cannot be extended, such as one with encrypted layers."""
    try:
        config, manifest = _decode(base.config), _decode(base.manifest)
        count = len(_list_diff_ids(config))
        is_complete = count == len(manifest["layers"]) and config.get("os", "linux") == "linux"
    except (ValueError, KeyError, TypeError, AttributeError):
        is_complete = False
    if not is_complete:
        message = f"`{base.reference}` is not a container image for Linux"
        hint = "use an image with layers as `package.base`"
        raise FabricError(Problem("image/bad-base", message, hint))
    return base


def _list_diff_ids(config: Mapping[str, Any]) -> list[str]:
    return list(config["rootfs"]["diff_ids"])


def _describe(kind: str, digest: str, size: int) -> Document:
    return {"mediaType": kind, "digest": digest, "size": size}


def _encode(document: Document) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _decode(text: bytes) -> Document:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise TypeError("not an object")
    return document
