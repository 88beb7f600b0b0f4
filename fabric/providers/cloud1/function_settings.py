"""A function of an order as cloud1 describes one. No effects."""

import base64
import json
from collections.abc import Mapping

from msgspec import Struct

from fabric.providers.contract import DeploymentAddress, FunctionOrder
from fabric.providers.naming import resource_name, shortened

ALIAS = "live"
NEWEST = "$LATEST"
_NAME_LENGTH = 64
_MEMORY, _TIMEOUT = 128, 3
RUNTIMES = {"nodejs": "nodejs22.x", "python": "python3.12"}
_ARCHITECTURES = {"": "x86_64", "x64": "x86_64", "amd64": "x86_64", "aarch64": "arm64"}
_MARK = "fabric "

Fields = Mapping[str, object]


class OwnSettings(Struct, frozen=True, rename="camel"):
    """What the provider's own part of a config says."""

    role_arn: str = ""
    artifact_bucket: str = ""
    scheduler_role_arn: str = ""


def function_name(address: DeploymentAddress, name: str) -> str:
    return shortened(resource_name(address, name), _NAME_LENGTH)


def marked(mark: str) -> str:
    """A version carries this for good, and the next one another."""
    return f"{_MARK}{mark}"


def mark_in(description: object) -> str:
    text = description if isinstance(description, str) else ""
    return text.removeprefix(_MARK) if text.startswith(_MARK) else ""


def configuration(order: FunctionOrder, role: str) -> dict[str, object]:
    """All that one call can set, with what cloud1 takes where the config says nothing: what a
    config says no more has to go back to that."""
    settings = dict(order.settings)
    return {
        "Description": marked(order.mark),
        "Role": role,
        "Handler": order.artifact.handler,
        "Runtime": RUNTIMES.get(order.artifact.runtime, order.artifact.runtime),
        "MemorySize": _count(settings.get("memory", ""), _MEMORY),
        "Timeout": timeout_of(settings),
        "Environment": {"Variables": dict(order.env.reveal())},
        "Layers": list(order.layers),
    }


def differing(wanted: Fields, found: Fields) -> dict[str, object]:
    """What has to be set so that a function is as wanted."""
    there = {
        **found,
        "Environment": {"Variables": _inside(found, "Environment", "Variables") or {}},
        "Layers": [one["Arn"] for one in _rows(found.get("Layers"))],
    }
    return {name: value for name, value in wanted.items() if there.get(name) != value}


def timeout_of(settings: Mapping[str, str]) -> int:
    """In seconds."""
    return _count(settings.get("timeout", ""), _TIMEOUT)


def architecture(order: FunctionOrder) -> str:
    said = dict(order.settings).get("architecture", "")
    return _ARCHITECTURES.get(said, said)


def code_digest(sha256: str) -> str:
    """The digest of an archive in cloud1's spelling."""
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def archive_digest(code_sha256: object) -> str:
    """And in ours; empty for what is none."""
    try:
        return base64.b64decode(str(code_sha256), validate=True).hex()
    except ValueError:
        return ""


def own_tags(address: DeploymentAddress) -> dict[str, str]:
    return {"fabric:service": address.service, "fabric:stage": address.stage}


def triggers_of(texts: tuple[str, ...], kind: str) -> tuple[dict[str, object], ...]:
    found = (json.loads(text) for text in texts)
    return tuple(one for one in found if one.get("type") == kind)


def version_in(arn: str) -> str:
    """The number of a version; empty for an id that names none."""
    last = arn.rpartition(":")[2]
    return last if last.isdigit() and arn.count(":") == _COLONS_OF_A_VERSION else ""


def alias_of(arn: str) -> str:
    """The address under which a function is met, whatever version that is."""
    return f"{function_of(arn)}:{ALIAS}"


def function_of(arn: str) -> str:
    return ":".join(arn.split(":")[:_COLONS_OF_A_VERSION])


_COLONS_OF_A_VERSION = 7


def _count(text: str, otherwise: int) -> int:
    return int(text) if text not in ("", "0") else otherwise


def _inside(found: Fields, name: str, inner: str) -> object:
    value = found.get(name)
    return value.get(inner) if isinstance(value, dict) else None


def _rows(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []
