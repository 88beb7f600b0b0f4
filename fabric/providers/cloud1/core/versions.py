"""Functions and versions on AWS, and the wait until they are usable."""

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import FUNCTION_NAME
from fabric.model.names import normalize_architecture
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import GONE, Cloud1Clients, is_busy
from fabric.providers.cloud1.core.function_settings import find_changed_settings
from fabric.providers.cloud1.core.http_settings import HttpSettings
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import format_generic_hint
from fabric.providers.core.limits import function_problem
from fabric.providers.core.retry import poll_until
from fabric.providers.core.triggers import format_resource_name, shorten_name
from fabric.providers.core.work import CallScope
from fabric.system.cloud1_account import read_error_code

if TYPE_CHECKING:
    from fabric.providers.cloud1.core.registries import EcrRegistries


def _build_live_function(name: str, function: str, version: Mapping[str, Any]) -> LiveFunction:
    return LiveFunction(
        function,
        name,
        build_version_arn(version),
        artifact_sha256=decode_code_hash(version.get("CodeSha256")),
        mark=mark_in(version.get("Description")),
    )


def _refuse_failed(name: str, one: Mapping[str, Any]) -> None:
    for state, reason in (("State", "StateReason"), ("LastUpdateStatus", "LastUpdateStatusReason")):
        if one.get(state) == "Failed":
            why = one.get(reason, "no reason was returned")
            message = f"function `{name}` failed to become ready: {why}"
            raise FabricError(Problem("provider/refused", message, format_generic_hint("AWS")))


ALIAS = "live"
IMAGE = "Image"
NEWEST = "$LATEST"
_NAME_LENGTH = 64
_MEMORY, _TIMEOUT = 128, 3
RUNTIMES = {"nodejs": "nodejs22.x", "python": "python3.12"}
_MARK = "fabric "
Fields = Mapping[str, object]


class IamSettings(Struct, frozen=True, rename="camel"):
    """Settings of the roles that fabric creates."""

    path: str = "/"
    boundary: str = ""


class OwnSettings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's section of the config."""

    role_arn: str = ""
    artifact_bucket: str = ""
    scheduler_role_arn: str = ""
    iam: IamSettings = IamSettings()
    http: HttpSettings = HttpSettings()


class Cloud1Work(Struct, frozen=True):
    """The context of every call: clients, provider settings, watch, redaction and waiting
    limits."""

    clients: Cloud1Clients
    own: OwnSettings
    scope: CallScope
    # The registries of images, and their logins.
    open_registries: "Callable[[], EcrRegistries] | None" = None

    @property
    def functions(self) -> Any:
        return self.clients.of("lambda")


def find_by_mark(work: Cloud1Work, name: str, function: str, mark: str) -> LiveFunction | None:
    """Find the newest version with this mark. An interrupted run can leave the function between two
    versions."""
    found = [one for one in list_versions(work, name) if mark_in(one.get("Description")) == mark]
    newest = max(found, key=lambda one: int(one["Version"]), default=None)
    if newest is None:
        return None
    live = _build_live_function(name, function, newest)
    if newest.get("PackageType") != IMAGE:
        return live
    described = describe_function(work, name, str(newest["Version"]))
    return replace(live, image=read_image(described or {}))


def find_active_version(
    work: Cloud1Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the version that receives traffic. Only its digest identifies an image."""
    name = build_function_name(address, function)
    found = describe_function(work, name, ALIAS)
    if found is None:
        return None
    live = _build_live_function(name, function, found["Configuration"])
    if found["Configuration"].get("PackageType") != IMAGE:
        return live
    return replace(live, artifact_sha256="", image=read_image(found))


def read_image(described: Mapping[str, Any]) -> str:
    """Return the image of a described version, with its digest."""
    code = described.get("Code") or {}
    return str(code.get("ResolvedImageUri") or code.get("ImageUri") or "")


def list_versions(work: Cloud1Work, name: str) -> Iterator[dict[str, Any]]:
    """List published versions; none if the function does not exist."""
    from botocore.exceptions import ClientError

    pages = work.functions.get_paginator("list_versions_by_function")
    try:
        for page in pages.paginate(FunctionName=name):
            yield from (one for one in page["Versions"] if one["Version"] != NEWEST)
    except ClientError as error:
        if read_error_code(error) not in GONE:
            raise


def describe_function(work: Cloud1Work, name: str, version: str = "") -> dict[str, Any] | None:
    """Describe a function in one call. Read calls have a far higher rate limit than others."""
    from botocore.exceptions import ClientError

    more = {"Qualifier": version} if version else {}
    try:
        found: dict[str, Any] = work.functions.get_function(FunctionName=name, **more)
    except ClientError as error:
        if read_error_code(error) in GONE:
            return None
        raise
    return found


def wait_until_ready(work: Cloud1Work, name: str) -> None:
    def look() -> bool | None:
        found = describe_function(work, name)
        one = found["Configuration"] if found else {}
        _refuse_failed(name, one)
        states = (one.get("State", "Active"), one.get("LastUpdateStatus", "Successful"))
        return True if found and states == ("Active", "Successful") else None

    if poll_until(look, work.scope.waiting, work.scope.watch) is None:
        message = f"timeout: function `{name}` is not ready after one minute"
        hint = "check the state of the function in the AWS console, then run: fabric deploy"
        raise FabricError(Problem("provider/not-ready", message, hint))


def retry_on_conflict(
    work: Cloud1Work,
    call: Callable[[], Mapping[str, Any]],
    is_temporary: Callable[[Any], bool] = is_busy,
) -> Mapping[str, Any]:
    """Retry a change while another change of the function is in progress."""
    from botocore.exceptions import ClientError

    busy: list[ClientError] = []

    def call_once() -> Mapping[str, Any] | None:
        try:
            return call()
        except ClientError as error:
            if not is_temporary(error):
                raise
            busy.append(error)
            return None

    answer = poll_until(call_once, work.scope.waiting, work.scope.watch)
    if answer is None:
        raise busy[-1]
    return answer


def build_function_name(address: DeploymentAddress, name: str) -> str:
    """Return the name of a function. Of a function that the config no longer has, the record knows
    the name that the config had set."""
    was = address.previous.function(name) if address.previous else None
    recorded = was.resource_name if was and FUNCTION_NAME in dict(was.settings) else ""
    own = dict(address.function_names).get(name) or recorded
    return own or build_default_name(address, name)


def build_default_name(address: DeploymentAddress, name: str) -> str:
    return shorten_name(format_resource_name(address, name), _NAME_LENGTH)


def find_rename_problem(
    address: DeploymentAddress, function: str, settings: Mapping[str, str]
) -> Problem | None:
    """Return a problem if a function is deployed under another name than the config sets."""
    was = address.previous.function(function) if address.previous else None
    if was is None or not was.was_made or not was.resource_id.startswith("arn:"):
        return None
    name = settings.get(FUNCTION_NAME) or build_default_name(address, function)
    is_named = FUNCTION_NAME in {**settings, **dict(was.settings)}
    if not is_named or was.resource_name == name:
        return None
    why = f"is deployed as `{was.resource_name}`, and AWS cannot rename it to `{name}`"
    hint = (
        f"set `{FUNCTION_NAME}: {was.resource_name}`, or change the `name` of the function as "
        "well: fabric then replaces it"
    )
    return function_problem(function, why, hint)


def format_mark(mark: str, description: str = "") -> str:
    """Format the mark as a version description: each version keeps its own permanently. The text
    of the config follows it."""
    return f"{_MARK}{mark}: {description}" if description else f"{_MARK}{mark}"


def mark_in(description: object) -> str:
    text = description if isinstance(description, str) else ""
    return text.removeprefix(_MARK).partition(":")[0] if text.startswith(_MARK) else ""


def build_configuration(order: FunctionOrder, role: str) -> dict[str, object]:
    """Build all settings of a function that each function has, with AWS defaults for omitted ones.
    A setting removed from the config must return to its default."""
    settings = dict(order.settings)
    own: dict[str, object] = {
        "Handler": order.artifact.handler,
        "Runtime": RUNTIMES.get(order.artifact.runtime, order.artifact.runtime),
        "Layers": list(order.layers),
    }
    return {
        "Description": format_mark(order.mark, settings.get("description", "")),
        "Role": role,
        **({} if order.artifact.image else own),
        "MemorySize": _count(settings.get("memory", ""), _MEMORY),
        "Timeout": read_timeout_seconds(settings),
        "Environment": {"Variables": dict(order.env.reveal())},
    }


def compare_configuration(order: FunctionOrder, role: str, found: Fields) -> dict[str, object]:
    """Return the settings to update so that a function matches the config."""
    wanted = build_configuration(order, role)
    there = {
        **found,
        "Environment": {"Variables": _read_inner(found, "Environment", "Variables") or {}},
        "Layers": [one["Arn"] for one in _require_rows(found.get("Layers"))],
    }
    name = str(found.get("FunctionName", ""))
    return {
        **{key: value for key, value in wanted.items() if there.get(key) != value},
        **find_changed_settings(dict(order.settings), found, name),
    }


def read_timeout_seconds(settings: Mapping[str, str]) -> int:
    """Return the timeout in seconds."""
    return _count(settings.get("timeout", ""), _TIMEOUT)


def choose_architecture(order: FunctionOrder) -> str:
    return normalize_architecture(dict(order.settings).get("architecture", ""))


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


def read_description(description: object) -> str:
    """Return the text of the config in a version description."""
    text = description if isinstance(description, str) else ""
    return text.partition(": ")[2] if text.startswith(_MARK) else ""


def read_version(arn: str) -> str:
    """Return the version number of an ARN; empty if it names none."""
    last = arn.rpartition(":")[2]
    return last if last.isdigit() and arn.count(":") == _COLONS_OF_A_VERSION else ""


def build_version_arn(configuration: Mapping[str, Any]) -> str:
    """Build the ARN of the described version: not all responses contain it."""
    return f"{strip_arn_version(configuration['FunctionArn'])}:{configuration['Version']}"


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
