"""Functions as Google Cloud API documents. No effects."""

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.cloud2.settings import OWNER, Cloud2Owner, RevisionMark
from fabric.providers.cloud2.source import ENTRY_POINT, require_runtime
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.sources import TOO_LARGE, read_memory, read_timeout

MARK, CLOCK = "FABRIC_MARK", "FABRIC_CLOCK"
_ENV_BYTES = 32 * 1024
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
# The runtime there sets these itself.
RESERVED = frozenset(
    (
        *(MARK, CLOCK, "PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION"),
        *("FUNCTION_TARGET", "FUNCTION_SIGNATURE_TYPE", "FUNCTION_SOURCE", "FUNCTION_TRIGGER_TYPE"),
        *("CLOUD_RUN_TIMEOUT_SECONDS", "GOOGLE_CLOUD_PROJECT", "LOG_EXECUTION_ID"),
        *("ENTRY_POINT", "GCP_PROJECT", "GCLOUD_PROJECT", "GOOGLE_FUNCTION_TARGET"),
    )
)
RESERVED_BEGINS = "X_GOOGLE_"


def is_reserved(name: str) -> bool:
    return name in RESERVED or name.startswith(RESERVED_BEGINS)


# Whatever else somebody has set by hand stays as it is.
UPDATED = (
    *("description", "labels"),
    *("buildConfig.source", "buildConfig.runtime", "buildConfig.entryPoint"),
    *("serviceConfig.environmentVariables", "serviceConfig.availableMemory"),
    *("serviceConfig.timeoutSeconds", "serviceConfig.maxInstanceCount"),
    *("serviceConfig.maxInstanceRequestConcurrency", "serviceConfig.serviceAccountEmail"),
    "serviceConfig.allTrafficOnLatestRevision",
)


class Cloud2Plan(Struct, frozen=True):
    """An order with values computed from it."""

    order: FunctionOrder
    name: str
    owner: Cloud2Owner
    mark: RevisionMark
    # The secret that schedule calls contain.
    clock: str = ""
    account: str = ""


def build_function_document(plan: Cloud2Plan, source: JsonObject) -> JsonObject:
    """Build the document of a function. A new revision of an existing function receives no traffic
    yet."""
    order, owner = plan.order, plan.owner
    env = {**dict(order.env.reveal()), MARK: plan.mark.text}
    return {
        "description": owner.words,
        "labels": {OWNER: owner.label, **dict(order.tags)},
        "environment": "GEN_2",
        "buildConfig": {
            "runtime": require_runtime(order).id,
            "entryPoint": ENTRY_POINT,
            "source": {"storageSource": source},
        },
        "serviceConfig": {
            "environmentVariables": {**env, CLOCK: plan.clock} if _is_timed(order) else env,
            "allTrafficOnLatestRevision": False,
            **_build_sizes(order),
            **({"serviceAccountEmail": plan.account} if plan.account else {}),
        },
    }


def _is_timed(order: FunctionOrder) -> bool:
    return any(json.loads(text).get("type") == "cron" for text in order.triggers)


def _build_sizes(order: FunctionOrder) -> JsonObject:
    """Limit concurrency to one call per instance."""
    wanted = {
        "availableMemory": f"{read_memory(order)}Mi" if read_memory(order) else None,
        "timeoutSeconds": read_timeout(order) or None,
        "maxInstanceCount": order.reserved_concurrency or None,
    }
    told = {name: value for name, value in wanted.items() if value is not None}
    return {"maxInstanceRequestConcurrency": 1, **told}


def refuse_order(order: FunctionOrder) -> None:
    """Raise for an unsupported order before any API call: variable values are first known here."""
    problems = tuple(_find_misfits(order))
    if problems:
        raise FabricError(*problems)


def _find_misfits(order: FunctionOrder) -> Iterator[Problem]:
    whose = f"function `{order.name}`"
    pairs = order.env.reveal()
    size = sum(len(name.encode()) + len(text.encode()) for name, text in pairs)
    if size > _ENV_BYTES:
        message = f"{whose}: its environment has {size:,} bytes; Google Cloud allows {_ENV_BYTES:,}"
        yield Problem("deploy/environment-too-large", message, TOO_LARGE)
    yield from find_tag_problems(order.name, order.tags)


def find_tag_problems(function: str, tags: Pairs) -> Iterator[Problem]:
    for name, value in tags:
        if name == OWNER or not (_LABEL.fullmatch(name) and _LABEL_VALUE.fullmatch(value)):
            why = f"has the tag `{name}: {value}`, which is not a valid Google Cloud label"
            hint = "use lowercase letters, digits, `_` and `-`, at most 63 characters each"
            yield Problem("config/unfit", f"function `{function}` {why}", hint)
