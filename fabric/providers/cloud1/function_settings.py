"""The configuration of a function in AWS terms. No effects."""

import base64
import json
from collections.abc import Mapping

from msgspec import Struct

from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.triggers import format_resource_name, shorten_name

ALIAS = "live"
NEWEST = "$LATEST"
_NAME_LENGTH = 64
_MEMORY, _TIMEOUT = 128, 3
RUNTIMES = {"nodejs": "nodejs22.x", "python": "python3.12"}
_ARCHITECTURES = {"": "x86_64", "x64": "x86_64", "amd64": "x86_64", "aarch64": "arm64"}
_MARK = "fabric "

Fields = Mapping[str, object]


class OwnSettings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's section of the config."""

    role_arn: str = ""
    artifact_bucket: str = ""
    scheduler_role_arn: str = ""


def build_function_name(address: DeploymentAddress, name: str) -> str:
    return shorten_name(format_resource_name(address, name), _NAME_LENGTH)


def format_mark(mark: str) -> str:
    """Format the mark as a version description: each version keeps its own permanently."""
    return f"{_MARK}{mark}"


def mark_in(description: object) -> str:
    text = description if isinstance(description, str) else ""
    return text.removeprefix(_MARK) if text.startswith(_MARK) else ""


def build_configuration(order: FunctionOrder, role: str) -> dict[str, object]:
    """Build all settings of a function, with AWS defaults for omitted ones. A setting removed from
    the config must return to its default."""
    settings = dict(order.settings)
    return {
        "Description": format_mark(order.mark),
        "Role": role,
        "Handler": order.artifact.handler,
        "Runtime": RUNTIMES.get(order.artifact.runtime, order.artifact.runtime),
        "MemorySize": _count(settings.get("memory", ""), _MEMORY),
        "Timeout": read_timeout_seconds(settings),
        "Environment": {"Variables": dict(order.env.reveal())},
        "Layers": list(order.layers),
    }


def compare_configuration(wanted: Fields, found: Fields) -> dict[str, object]:
    """Return the settings to update so that a function matches the config."""
    there = {
        **found,
        "Environment": {"Variables": _read_inner(found, "Environment", "Variables") or {}},
        "Layers": [one["Arn"] for one in _require_rows(found.get("Layers"))],
    }
    return {name: value for name, value in wanted.items() if there.get(name) != value}


def read_timeout_seconds(settings: Mapping[str, str]) -> int:
    """Return the timeout in seconds."""
    return _count(settings.get("timeout", ""), _TIMEOUT)


def choose_architecture(order: FunctionOrder) -> str:
    said = dict(order.settings).get("architecture", "")
    return _ARCHITECTURES.get(said, said)


def encode_code_hash(sha256: str) -> str:
    """Encode the SHA-256 hash of an archive the way AWS does."""
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def decode_code_hash(code_sha256: object) -> str:
    """Decode a hash from AWS to hexadecimal; empty if it is invalid."""
    try:
        return base64.b64decode(str(code_sha256), validate=True).hex()
    except ValueError:
        return ""


def build_ownership_tags(address: DeploymentAddress) -> dict[str, str]:
    return {"fabric:service": address.service, "fabric:stage": address.stage}


def select_triggers(texts: tuple[str, ...], kind: str) -> tuple[dict[str, object], ...]:
    found = (json.loads(text) for text in texts)
    return tuple(one for one in found if one.get("type") == kind)


def read_version(arn: str) -> str:
    """Return the version number of an ARN; empty if it names none."""
    last = arn.rpartition(":")[2]
    return last if last.isdigit() and arn.count(":") == _COLONS_OF_A_VERSION else ""


def build_alias_arn(arn: str) -> str:
    """Return the ARN of the live alias, which is the same for all versions."""
    return f"{strip_arn_version(arn)}:{ALIAS}"


def strip_arn_version(arn: str) -> str:
    return ":".join(arn.split(":")[:_COLONS_OF_A_VERSION])


_COLONS_OF_A_VERSION = 7


def _count(text: str, otherwise: int) -> int:
    return int(text) if text not in ("", "0") else otherwise


def _read_inner(found: Fields, name: str, inner: str) -> object:
    value = found.get(name)
    return value.get(inner) if isinstance(value, dict) else None


def _require_rows(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []
