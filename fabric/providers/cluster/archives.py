"""Archives and fabric's own files as immutable ConfigMaps, named by a hash of their content."""

import base64
from collections.abc import Iterator

from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.objects import (
    KubeObject,
    build_function_labels,
    build_object_name,
    build_service_labels,
)
from fabric.providers.core.contract import Artifact, DeploymentAddress, FunctionOrder
from fabric.providers.core.serving import ServerRuntime

# An object has at most 1 MiB; what is around the archive in it needs some room.
_PART = 900_000
_MOST_PARTS = 8
LARGEST = _PART * _MOST_PARTS
_DIGEST = 12


def build_archive_name(address: DeploymentAddress, function: str, sha256: str) -> str:
    """Build the name of the first part; further parts append a number."""
    return f"{build_object_name(address, function)}-{sha256[:_DIGEST]}"


def list_archive_names(address: DeploymentAddress, order: FunctionOrder) -> tuple[str, ...]:
    first = build_archive_name(address, order.name, order.artifact.sha256)
    parts = max(1, -(-order.artifact.size // _PART))
    return (first, *(f"{first}-{number}" for number in range(1, parts)))


def build_archive_maps(address: DeploymentAddress, order: FunctionOrder) -> Iterator[KubeObject]:
    _refuse_large(order.name, order.artifact)
    content = order.artifact.path.read_bytes()
    labels = build_function_labels(address, order.name)
    for number, name in enumerate(list_archive_names(address, order)):
        part = base64.b64encode(content[number * _PART : (number + 1) * _PART]).decode()
        yield {**_map(name, labels), "binaryData": {format_part_key(number): part}}


def format_part_key(number: int) -> str:
    return f"archive.{number:02d}"


def build_runtime_name(address: DeploymentAddress, runtime: ServerRuntime) -> str:
    return f"{build_object_name(address)}-{runtime.language}-{runtime.digest[:_DIGEST]}"


def build_runtime_map(address: DeploymentAddress, runtime: ServerRuntime) -> KubeObject:
    data = {format_file_key(number): text for number, (_, text) in enumerate(runtime.files)}
    name = build_runtime_name(address, runtime)
    return {**_map(name, build_service_labels(address)), "data": data}


def format_file_key(number: int) -> str:
    """Build the key of a file. Keys cannot contain slashes; the volume mount maps them to paths."""
    return f"file{number}"


def _map(name: str, labels: dict[str, str]) -> KubeObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels},
        "immutable": True,
    }


def _refuse_large(function: str, artifact: Artifact) -> None:
    if artifact.size <= LARGEST:
        return
    message = (
        f"the archive of `{function}` has {artifact.size:,} bytes; the maximum in Kubernetes "
        f"is {LARGEST:,}"
    )
    hint = "include fewer files, or build an image and use a custom deploy command"
    raise FabricError(Problem("deploy/archive-too-large", message, hint))
