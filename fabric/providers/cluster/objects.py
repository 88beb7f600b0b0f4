"""Kubernetes objects as documents: their names, labels and fields. No effects."""

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from fabric.model.hashing import hash_bytes
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.triggers import format_resource_name, shorten_name

KubeObject: TypeAlias = dict[str, object]
# Names of rows in lists that the cluster itself keeps apart by them.
_KEYS = ("name", "mountPath", "containerPort", "key")


def read_at(thing: object, *keys: str) -> object:
    for key in keys:
        thing = thing.get(key) if isinstance(thing, Mapping) else None
    return thing


def read_text_at(thing: object, *keys: str) -> str:
    found = read_at(thing, *keys)
    return found if isinstance(found, str) else ""


def count_at(thing: object, *keys: str) -> int:
    found = read_at(thing, *keys)
    return found if isinstance(found, int) else 0


def read_rows_at(thing: object, *keys: str) -> list[KubeObject]:
    found = read_at(thing, *keys)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def read_texts_at(thing: object, *keys: str) -> dict[str, str]:
    found = read_at(thing, *keys)
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def format_key(thing: object) -> str:
    """Return the name for kubectl, such as `Deployment/shop-dev-hello`."""
    return f"{read_text_at(thing, 'kind')}/{read_text_at(thing, 'metadata', 'name')}"


def group_by_key(things: Iterable[KubeObject]) -> dict[str, KubeObject]:
    return {format_key(one): one for one in things}


def has_all_fields(there: object, wanted: object) -> bool:
    """Return whether all desired fields are present, ignoring fields that the cluster adds."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(
            has_all_fields(there.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(there, list) and _has_all_rows(there, wanted)
    return there == wanted


def _has_all_rows(there: list[object], wanted: list[object]) -> bool:
    """Compare lists. Rows with names are matched by name, because other writers can insert rows."""
    key = next((one for one in _KEYS if all(_has(row, one) for row in wanted)), "")
    if not key or not wanted:
        return len(there) == len(wanted) and all(map(has_all_fields, there, wanted))
    rows = {str(read_at(row, key)): row for row in there}
    return all(has_all_fields(rows.get(str(read_at(row, key))), row) for row in wanted)


def _has(row: object, key: str) -> bool:
    return isinstance(row, Mapping) and key in row


NAME_LENGTH = 63
CRON_LENGTH = 52
MANAGER = "fabric"
_MANAGED = "app.kubernetes.io/managed-by"
_NAME_LABEL = "app.kubernetes.io/name"
_SERVICE, _STAGE, FUNCTION = "fabric/service", "fabric/stage", "fabric/function"
MARK, ARTIFACT, TAGS, PARTS = "fabric/mark", "fabric/artifact", "fabric/tags", "fabric/parts"
IMAGE = "fabric/image"
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
