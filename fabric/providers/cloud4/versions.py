"""Versions of functions on Alibaba Cloud, and the live alias that routes traffic to one of them."""

import base64
import functools
import math
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.model.task import Pairs
from fabric.providers.cloud4.client import Cloud4Call, Cloud4Work, build_cloud4_call
from fabric.providers.cloud4.settings import (
    LIVE,
    SECONDS,
    Cloud4Settings,
    PublishedMark,
    format_description,
    mark_in,
)
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.errors import RefusedCallError
from fabric.providers.core.ownership import FunctionOwner
from fabric.providers.core.sources import (
    LESS_CODE,
    TOO_LARGE,
    SourceRuntime,
    SourceRuntimes,
    Texts,
    build_server_settings,
    list_source_files,
    pack_source,
    read_memory,
    read_timeout,
)

_VERSION_GONE = "VersionNotFound"


class PublishedVersion(Struct, frozen=True, rename="camel"):
    version_id: str
    description: str = ""

    @property
    def mark(self) -> PublishedMark:
        return mark_in(self.description)


class _VersionPage(Struct, frozen=True, rename="camel"):
    versions: tuple[PublishedVersion, ...] = ()
    next_token: str = ""


class AliasRow(Struct, frozen=True, rename="camel"):
    alias_name: str = ""
    version_id: str = ""
    additional_version_weight: dict[str, float] | None = None

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that the alias routes to."""
        return (self.version_id, *(self.additional_version_weight or ()))

    def is_all_on(self, version: str) -> bool:
        return self.version_id == version and not self.additional_version_weight


class _AliasPage(Struct, frozen=True, rename="camel"):
    aliases: tuple[AliasRow, ...] = ()
    next_token: str = ""


def list_versions(work: Cloud4Work, name: str) -> Iterator[PublishedVersion]:
    for page in work.pages("ListFunctionVersions", (name, "versions"), _VersionPage):
        yield from page.versions


def find_version(work: Cloud4Work, name: str, wanted: PublishedMark) -> PublishedVersion | None:
    """Find the oldest version with this mark."""
    found = [one for one in list_versions(work, name) if one.mark.is_wanted(wanted)]
    return min(found, key=_number) if found else None


def _number(row: PublishedVersion) -> int:
    return int(row.version_id) if row.version_id.isdecimal() else 0


def publish_version(work: Cloud4Work, name: str, mark: PublishedMark) -> PublishedVersion:
    """Publish the current state of the function. A retry must look for the version first."""
    call = build_cloud4_call(
        "PublishFunctionVersion", "POST", (name, "versions"), {"description": mark.text}
    )
    return work.api.once(call, PublishedVersion)


def delete_version(work: Cloud4Work, name: str, version: str) -> None:
    work.delete("DeleteFunctionVersion", name, "versions", version)


def list_aliases(work: Cloud4Work, name: str) -> Iterator[AliasRow]:
    for page in work.pages("ListAliases", (name, "aliases"), _AliasPage):
        yield from page.aliases


def delete_alias(work: Cloud4Work, name: str, alias: str) -> None:
    work.delete("DeleteAlias", name, "aliases", alias)


def find_live_alias(work: Cloud4Work, name: str) -> AliasRow | None:
    """Find the alias that receives traffic."""
    return work.look(Cloud4Call("GetAlias", "GET", (name, "aliases", LIVE)), AliasRow)


def activate_version(work: Cloud4Work, name: str, version: str) -> bool:
    """Route all traffic to this version. Returns whether anything changed."""

    def act(work: Cloud4Work) -> bool:
        row = find_live_alias(work, name)
        if row is not None and row.is_all_on(version):
            return False
        wanted = {"versionId": version}
        if row is None:
            document: object = {"aliasName": LIVE, **wanted}
            call = build_cloud4_call("CreateAlias", "POST", (name, "aliases"), document)
        else:
            document = {**wanted, "additionalVersionWeight": {}}
            call = build_cloud4_call("UpdateAlias", "PUT", (name, "aliases", LIVE), document)
        work.api.once(call, object)
        return True

    try:
        return work.trying(act)
    except RefusedCallError as error:
        if error.is_gone or _VERSION_GONE in error.codes:
            raise FabricError(_missing_version_problem(name, version)) from error
        raise


def _missing_version_problem(name: str, version: str) -> Problem:
    message = f"version {version} of the function `{name}` no longer exists"
    return Problem("provider/gone", message, "run: fabric deploy --force")


_ENTRY = Path(__file__).with_name("entry")
_NODE = re.compile(r"nodejs(?:(18|20)(?:\.x)?)?")
_PYTHON = re.compile(r"python(3\.10|3\.12)?")
_BEGIN = "invocations"
_PACKAGE = {"private": True, "type": "commonjs"}
HANDLER = "fabric_entry.handler"


def find_source_runtime(runtime: str) -> SourceRuntime | None:
    """Return the runtime, or None if Alibaba Cloud does not support it."""
    if found := _NODE.fullmatch(runtime):
        return SourceRuntime(f"nodejs{found[1] or '20'}", "nodejs", _list_node_files())
    if found := _PYTHON.fullmatch(runtime):
        return SourceRuntime(f"python{found[1] or '3.12'}", "python", _list_python_files())
    return None


SOURCE_RUNTIMES = SourceRuntimes(
    "Alibaba Cloud",
    "use nodejs18.x, nodejs20.x, python3.10 or python3.12",
    find_source_runtime,
)


@functools.cache
def _list_node_files() -> Texts:
    return list_source_files(
        "nodejs", {"fabric_entry.js": _ENTRY / "fabric_entry.js"}, _PACKAGE, _BEGIN
    )


@functools.cache
def _list_python_files() -> Texts:
    return list_source_files(
        "python", {"fabric_entry.py": _ENTRY / "fabric_entry.py.txt"}, None, _BEGIN
    )


def build_function_source(order: FunctionOrder, runtime: SourceRuntime, region: str) -> bytes:
    seconds = read_timeout(order) or SECONDS
    said = {
        **build_server_settings(order, "cloud4-fc", runtime.language, region),
        "seconds": seconds,
    }
    return pack_source(order, runtime, said)


# A zip in base64; more of it would have to be brought to a bucket first.
CODE_BYTES = 100 * 1024 * 1024
ENVIRONMENT_BYTES = 4 * 1024
# What cloud4 takes where nothing is said: told, so that what was set before goes.
_MEMORY, _DISK = 512, 512
_CPU_STEP, _MB_OF_CPU = 0.05, 2048
_TAGS = 20
_TAG, _VALUE = re.compile(r"(?!acs:|aliyun)[^\s].{0,127}"), re.compile(r".{0,128}")
# The runtime there sets these itself.
RESERVED = frozenset(
    (
        *("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"),
        *("ALIBABA_CLOUD_SECURITY_TOKEN", "accessKeyID", "accessKeySecret", "securityToken"),
    )
)
_RESERVED_BEGINS = "FC_"


def is_reserved(name: str) -> bool:
    return name in RESERVED or name.startswith(_RESERVED_BEGINS)


class Cloud4Plan(Struct, frozen=True):
    """An order with values computed from it."""

    order: FunctionOrder
    name: str
    owner: FunctionOwner
    runtime: SourceRuntime
    mark: PublishedMark
    own: Cloud4Settings


def build_function_document(plan: Cloud4Plan, source: bytes) -> JsonObject:
    """Build a complete document: the API keeps the old values of omitted fields."""
    order = plan.order
    memory = read_memory(order) or _MEMORY
    return {
        "description": format_description(plan.owner, order.mark),
        "runtime": plan.runtime.id,
        "handler": HANDLER,
        "code": {"zipFile": base64.b64encode(source).decode()},
        "environmentVariables": dict(order.env.reveal()),
        "memorySize": memory,
        "cpu": plan.own.cpu or choose_cpu(memory),
        "diskSize": plan.own.disk_size or _DISK,
        "timeout": read_timeout(order) or SECONDS,
        "instanceConcurrency": 1,
        "role": plan.own.role,
    }


def build_new_function_document(plan: Cloud4Plan, source: bytes) -> JsonObject:
    """Build the document of a new function, which has no old values to reset."""
    tags: JsonObject = {"tags": build_tag_rows(plan.order.tags)} if plan.order.tags else {}
    whole = build_function_document(plan, source)
    told = {name: value for name, value in whole.items() if value != ""}
    return {"functionName": plan.name, **told, **tags}


def build_tag_rows(tags: Pairs) -> list[JsonObject]:
    return [{"Key": name, "Value": value} for name, value in tags]


def choose_cpu(memory: int) -> float:
    """Choose one CPU per 2 GB in the steps that Alibaba Cloud allows for this memory."""
    return round(math.ceil(memory / _MB_OF_CPU / _CPU_STEP) * _CPU_STEP, 2)


def is_cpu_allowed(memory: int, cpu: float) -> bool:
    """Return whether the ratio is 1 to 4 GB per CPU."""
    return memory / 4096 <= cpu <= memory / 1024


def read_memory_setting(settings: Pairs) -> int:
    text = dict(settings).get("memory", "")
    return (int(text) if text.isdigit() else 0) or _MEMORY


def refuse_order(order: FunctionOrder) -> None:
    """Raise for an unsupported order before any API call: variable values are first known here."""
    raise_if_any(_find_misfits(order))


def refuse_source(order: FunctionOrder, source: bytes) -> None:
    encoded = -(-len(source) // 3) * 4
    if encoded > CODE_BYTES:
        whose = f"function `{order.name}`"
        message = (
            f"{whose}: its archive has {encoded:,} bytes in base64; the maximum is {CODE_BYTES:,}"
        )
        raise FabricError(Problem("deploy/archive-too-large", message, LESS_CODE))


def _find_misfits(order: FunctionOrder) -> Iterator[Problem]:
    whose = f"function `{order.name}`"
    pairs = order.env.reveal()
    size = sum(len(name.encode()) + len(text.encode()) for name, text in pairs)
    if size > ENVIRONMENT_BYTES:
        why = f"has an environment of {size:,} bytes; Alibaba Cloud allows {ENVIRONMENT_BYTES:,}"
        yield Problem("deploy/environment-too-large", f"{whose}: {why}", TOO_LARGE)
    yield from find_tag_problems(order.name, order.tags)


def find_tag_problems(function: str, tags: Pairs) -> Iterator[Problem]:
    if len(tags) > _TAGS:
        why = f"has {len(tags)} tags; Alibaba Cloud allows {_TAGS}"
        yield Problem("config/unfit", f"function `{function}` {why}", "remove some of its `tags`")
    for name, value in tags:
        is_web = "http://" in name + value or "https://" in name + value
        if is_web or not (_TAG.fullmatch(name) and _VALUE.fullmatch(value)):
            why = f"has the tag `{name}: {value}`, which is not a valid Alibaba Cloud tag"
            hint = "use at most 128 characters, not starting with `acs:` or `aliyun`"
            yield Problem("config/unfit", f"function `{function}` {why}", hint)
