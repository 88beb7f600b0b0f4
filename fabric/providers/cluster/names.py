"""Names and ownership labels of a service's Kubernetes objects. No effects."""

import re

from fabric.model.hashing import hash_bytes
from fabric.providers.cluster.objects import KubeObject, read_texts_at
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.triggers import format_resource_name, shorten_name

NAME_LENGTH = 63
CRON_LENGTH = 52
MANAGER = "fabric"
_MANAGED = "app.kubernetes.io/managed-by"
_NAME_LABEL = "app.kubernetes.io/name"
_SERVICE, _STAGE, FUNCTION = "fabric/service", "fabric/stage", "fabric/function"
MARK, ARTIFACT, TAGS, PARTS = "fabric/mark", "fabric/artifact", "fabric/tags", "fabric/parts"
_OWN_SIGNS = re.compile(r"[^a-z0-9-]+")
_LABEL_SIGNS = re.compile(r"[^A-Za-z0-9._-]+")
_DIGEST = 8


def build_object_name(address: DeploymentAddress, function: str = "", end: str = "") -> str:
    """Build a name of lowercase characters, digits and hyphens. A hash keeps similar names
    distinct."""
    whole = (
        format_resource_name(address, function)
        if function
        else f"{address.service}-{address.stage}"
    )
    whole = f"{whole}-{end}" if end else whole
    plain = _OWN_SIGNS.sub("-", whole.lower()).strip("-")
    if not plain[:1].isalpha():
        plain = f"f-{plain}"
    if plain != whole:
        plain = f"{plain[: NAME_LENGTH - _DIGEST - 1]}-{hash_bytes(whole.encode())[:_DIGEST]}"
    return shorten_name(plain, NAME_LENGTH)


def build_cron_name(address: DeploymentAddress, function: str, number: int) -> str:
    return shorten_name(build_object_name(address, function, f"cron{number}"), CRON_LENGTH)


def build_service_labels(address: DeploymentAddress) -> dict[str, str]:
    return {
        _MANAGED: MANAGER,
        _SERVICE: label_value(address.service),
        _STAGE: label_value(address.stage),
    }


def build_function_labels(address: DeploymentAddress, function: str) -> dict[str, str]:
    own = {FUNCTION: label_value(function), _NAME_LABEL: build_object_name(address, function)}
    return {**build_service_labels(address), **own}


def build_gate_labels(address: DeploymentAddress) -> dict[str, str]:
    return {**build_service_labels(address), _NAME_LABEL: build_object_name(address)}


def format_selector(address: DeploymentAddress) -> str:
    return ",".join(
        f"{name}={value}" for name, value in sorted(build_service_labels(address).items())
    )


def label_value(text: str) -> str:
    plain = _LABEL_SIGNS.sub("-", text).strip("-_.")
    if plain != text:
        plain = f"{plain[: NAME_LENGTH - _DIGEST - 1]}-{hash_bytes(text.encode())[:_DIGEST]}"
    return shorten_name(plain, NAME_LENGTH)


def is_ours(address: DeploymentAddress, thing: KubeObject) -> bool:
    labels = read_texts_at(thing, "metadata", "labels")
    return all(labels.get(name) == value for name, value in build_service_labels(address).items())
