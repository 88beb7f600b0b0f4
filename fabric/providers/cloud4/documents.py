"""Functions as Alibaba Cloud API documents. No effects."""

import base64
import math
import re
from collections.abc import Iterator

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.cloud4.settings import SECONDS, Cloud4Owner, Cloud4Settings, PublishedMark
from fabric.providers.cloud4.source import HANDLER
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.sources import (
    LESS_CODE,
    TOO_LARGE,
    SourceRuntime,
    read_memory,
    read_timeout,
)

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
    owner: Cloud4Owner
    runtime: SourceRuntime
    mark: PublishedMark
    own: Cloud4Settings


def build_function_document(plan: Cloud4Plan, source: bytes) -> JsonObject:
    """Build a complete document: the API keeps the old values of omitted fields."""
    order = plan.order
    memory = read_memory(order) or _MEMORY
    return {
        "description": plan.owner.words(order.mark),
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
    problems = tuple(_find_misfits(order))
    if problems:
        raise FabricError(*problems)


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
