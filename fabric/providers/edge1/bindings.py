"""Bindings of Workers: from the config to those of each function, without an API call.

The config has Wrangler's names. A binding of something that fabric creates has its id only after
the resource was found or created.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import UNFIT, function_problem
from fabric.providers.core.triggers import shorten_name
from fabric.providers.edge1.client import build_gate_name, build_worker_name

SECTION = ("extensions", "edge1-workers", "bindings")
_OTHERS = re.compile(r"[^a-z0-9-]+")
_NAME_LENGTH = 63


class ResourceKind(StrEnum):
    """What fabric can create. The value is the title."""

    KV = "KV namespace"
    R2 = "R2 bucket"
    D1 = "D1 database"
    QUEUE = "queue"


class Resource(Struct, frozen=True):
    """Something of the account that bindings use, found by its name."""

    kind: ResourceKind
    name: str
    create: bool = False
    # Whether a removal of the service deletes it with its data.
    is_deleted: bool = False
    jurisdiction: str = ""

    @property
    def title(self) -> str:
        return f"the {self.kind} `{self.name}`"

    @property
    def is_bound_by_name(self) -> bool:
        return self.kind in (ResourceKind.R2, ResourceKind.QUEUE)

    @property
    def key(self) -> str:
        """Its name among the values that a release stores."""
        return f"{self.kind.name.lower()}:{self.name}"


class Binding(Struct, frozen=True, kw_only=True):
    """A binding as the API names it. The id of its resource is added to `fields` as `id_key`."""

    name: str
    type: str
    # Its place below `bindings`.
    spot: tuple[str, ...]
    fields: JsonObject = {}
    # Those that get it; all if empty.
    functions: tuple[str, ...] = ()
    resource: Resource | None = None
    id_key: str = ""
    # The function of the service that it calls.
    target: str = ""

    def is_for(self, function: str) -> bool:
        return not self.functions or function in self.functions

    def build(self, ident: str = "") -> JsonObject:
        own = {self.id_key: ident} if self.id_key else {}
        return {"name": self.name, "type": self.type, **self.fields, **own}


class _Kind(Struct, frozen=True):
    """A list of the config: its type in the API, and the keys that are named differently there."""

    type: str
    renamed: Pairs = ()
    name_key: str = "binding"
    # Those that fabric creates, the key of the id in the API, and the key of the name here.
    resource: ResourceKind | None = None
    id_key: str = ""
    title_key: str = ""


_KINDS: Mapping[str, _Kind] = {
    "kv_namespaces": _Kind(
        "kv_namespace", (("id", "namespace_id"),), resource=ResourceKind.KV, id_key="namespace_id"
    ),
    "r2_buckets": _Kind(
        "r2_bucket", resource=ResourceKind.R2, id_key="bucket_name", title_key="bucket_name"
    ),
    "d1_databases": _Kind(
        "d1",
        (("database_id", "id"),),
        resource=ResourceKind.D1,
        id_key="id",
        title_key="database_name",
    ),
    "services": _Kind("service"),
    "ratelimits": _Kind("ratelimit", name_key="name"),
    "analytics_engine_datasets": _Kind("analytics_engine"),
    "vectorize": _Kind("vectorize"),
    "hyperdrive": _Kind("hyperdrive"),
    "workflows": _Kind("workflow", (("name", "workflow_name"),)),
    "mtls_certificates": _Kind("mtls_certificate"),
    "dispatch_namespaces": _Kind("dispatch_namespace"),
    "pipelines": _Kind("pipelines"),
    "secrets_store_secrets": _Kind("secrets_store_secret"),
    "send_email": _Kind("send_email", name_key="name"),
}
_PRODUCER = _Kind("queue", resource=ResourceKind.QUEUE, id_key="queue_name", title_key="queue")
_OBJECT = _Kind("durable_object_namespace", name_key="name")
_SINGLE = ("ai", "browser", "images", "version_metadata")
# Keys of fabric, and names that the API does not get.
_ASIDE = frozenset(("create", "onRemove", "functions", "function", "database_name", "queue"))


def list_bindings(section: JsonObject, address: DeploymentAddress) -> tuple[Binding, ...]:
    """List all bindings of a service, in the order of the config."""
    variables = (_bind_variable(*pair) for pair in _read_map(section, "vars").items())
    rows = (_bind(address, one) for one in _list_rows(section, address))
    unsafe = (
        Binding(
            name=row["name"],
            type=row["type"],
            spot=("unsafe", "bindings", str(number)),
            fields={key: value for key, value in row.items() if key not in ("name", "type")},
        )
        for number, row in enumerate(_read_map(section, "unsafe").get("bindings") or ())
    )
    return (*variables, *rows, *unsafe)


class _Row(Struct, frozen=True):
    """An entry of the config, and its place below `bindings`."""

    kind: _Kind
    spot: tuple[str, ...]
    keys: Mapping[str, Any]


def _list_rows(section: JsonObject, address: DeploymentAddress) -> Iterator[_Row]:
    lists: dict[tuple[str, ...], _Kind] = {(key,): kind for key, kind in _KINDS.items()}
    lists["queues", "producers"] = _PRODUCER
    lists["durable_objects", "bindings"] = _OBJECT
    for path, kind in lists.items():
        found: Any = section
        for key in path:
            found = (found or {}).get(key)
        for number, row in enumerate(found or ()):
            yield _Row(kind, (*path, str(number)), _add_script(address, kind, row))
    for key in _SINGLE:
        if key in section:
            yield _Row(_Kind(key), (key,), _read_map(section, key))


def _add_script(
    address: DeploymentAddress, kind: _Kind, row: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Add the Worker that has the classes of a service to its Durable Objects."""
    if kind is not _OBJECT or row.get("script_name"):
        return row
    return {**row, "script_name": build_objects_name(address)}


def _read_map(section: JsonObject, key: str) -> Mapping[str, Any]:
    found: Any = section.get(key)
    return found or {}


def _bind_variable(name: str, value: Any) -> Binding:
    fields: JsonObject = {"text": value} if isinstance(value, str) else {"json": value}
    kind = "plain_text" if isinstance(value, str) else "json"
    return Binding(name=name, type=kind, spot=("vars", name), fields=fields)


def _bind(address: DeploymentAddress, one: _Row) -> Binding:
    kind, row = one.kind, one.keys
    name = row[kind.name_key]
    renamed = dict(kind.renamed)
    aside = {*_ASIDE, kind.name_key}
    plain = {renamed.get(key, key): value for key, value in row.items() if key not in aside}
    made = Binding(
        name=name,
        type=kind.type,
        spot=one.spot,
        fields=plain,
        functions=tuple(row.get("functions") or ()),
    )
    if kind.type == "service" and row.get("function"):
        target = str(row["function"])
        service = build_worker_name(address, target)
        return replace(made, fields={**plain, "service": service}, target=target)
    if kind.type == "analytics_engine":
        return replace(made, fields={"dataset": name, **plain})
    has_id = kind.id_key in plain and kind.title_key != kind.id_key
    if kind.resource is None or has_id:
        return made
    resource = Resource(
        kind.resource,
        row.get(kind.title_key) or _build_title(address, name),
        create=bool(row.get("create")),
        is_deleted=row.get("onRemove") == "delete",
        jurisdiction=row.get("jurisdiction") or "",
    )
    return replace(made, resource=resource, id_key=kind.id_key)


def _build_title(address: DeploymentAddress, binding: str) -> str:
    """Build the name of a resource that the config does not name."""
    text = f"{build_gate_name(address)}-{binding}".lower()
    return shorten_name(_OTHERS.sub("-", text).strip("-"), _NAME_LENGTH)


def build_objects_name(address: DeploymentAddress) -> str:
    """Build the name of the Worker with the classes of the Durable Objects."""
    return shorten_name(f"{build_gate_name(address)}-objects", _NAME_LENGTH)


class QueueConsumer(Struct, frozen=True):
    """The queue of a trigger, the queue for its failed messages, and the settings of its consumer
    in the API."""

    queue: Resource
    dead: Resource | None
    settings: JsonObject


_CONSUMER_KEYS = ("max_retries", "max_concurrency", "retry_delay")
_BATCH, _WAIT_MS, _RETRIES = 10, 5_000, 3


def list_consumer_queues(section: JsonObject) -> Iterator[Resource]:
    """List the queues that functions read, and those for messages that failed."""
    for row in _list_consumer_rows(section).values():
        yield _build_queue(row, row["queue"])
        if row.get("dead_letter_queue"):
            yield _build_queue(row, row["dead_letter_queue"])


def _list_consumer_rows(section: JsonObject) -> dict[str, Mapping[str, Any]]:
    rows = _read_map(section, "queues").get("consumers") or ()
    return {row["queue"]: row for row in rows}


def _build_queue(row: Mapping[str, Any], name: str) -> Resource:
    return Resource(
        ResourceKind.QUEUE,
        name,
        create=bool(row.get("create")),
        is_deleted=row.get("onRemove") == "delete",
    )


def plan_consumers(
    section: JsonObject, triggers: Sequence[Mapping[str, Any]]
) -> tuple[QueueConsumer, ...]:
    """Plan the consumers of a function. All values are sent: tools have other defaults."""
    rows = _list_consumer_rows(section)
    found = []
    for one in triggers:
        if one.get("type") != "queue":
            continue
        queue = str(one["queue"])
        row = rows.get(queue, {"queue": queue})
        own = {key: row[key] for key in _CONSUMER_KEYS if key in row}
        window = one.get("maximumBatchingWindowSeconds")
        settings: JsonObject = {
            "batch_size": one.get("batchSize") or _BATCH,
            "max_wait_time_ms": _WAIT_MS if window is None else int(window) * 1000,
            "max_retries": _RETRIES,
            **own,
        }
        dead = row.get("dead_letter_queue")
        there = _build_queue(row, dead) if dead else None
        found.append(QueueConsumer(_build_queue(row, queue), there, settings))
    return tuple(sorted(found, key=lambda one: one.queue.name))


def find_binding_problems(
    section: JsonObject, address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    """Check the bindings against each other and against the functions of the service."""
    names = frozenset(one.name for one in functions)
    bindings = list_bindings(section, address)
    for one in bindings:
        yield from _find_row_problems(one, names)
    for function in functions:
        yield from _find_name_conflicts(function, bindings)
    yield from _find_consumer_problems(section, functions)
    yield from _find_object_problems(section, names)


def _spot_problem(spot: tuple[str, ...], why: str, hint: str) -> Unsupported:
    keys = (*SECTION, *spot)
    return Unsupported("", Problem(UNFIT, f"`{_format_spot(spot)}` {why}", hint), keys=keys)


def _format_spot(spot: tuple[str, ...]) -> str:
    text = "bindings"
    for one in spot:
        text += f"[{one}]" if one.isdecimal() else f".{one}"
    return text


def _find_row_problems(one: Binding, names: frozenset[str]) -> Iterator[Unsupported]:
    for function in sorted({*one.functions, *((one.target,) if one.target else ())} - names):
        why = f"names the function `{function}`, which the service does not have"
        yield _spot_problem(one.spot, why, f"functions: {', '.join(sorted(names))}")
    resource = one.resource
    if resource is not None and resource.is_deleted and not resource.create:
        why = "has `onRemove: delete` without `create: true`"
        yield _spot_problem(one.spot, why, "fabric deletes only what it creates: add `create`")
    if resource is not None and not resource.create and not _is_named(one):
        key = next((old for old, new in _KINDS[one.spot[0]].renamed), one.id_key)
        why = f"has neither `{key}` nor `create: true`"
        yield _spot_problem(one.spot, why, "with `create: true`, fabric creates it")
    if one.type == "service" and "service" not in one.fields:
        why = "has neither `service` nor `function`"
        yield _spot_problem(one.spot, why, "`function` names a function of this service")
    simple = one.fields.get("simple")
    if isinstance(simple, dict) and simple.get("period") not in (10, 60):
        yield _spot_problem(one.spot, "has a period that is not 10 or 60", "use 10 or 60 seconds")


def _is_named(one: Binding) -> bool:
    """Whether the API finds the resource by its name, as buckets and queues."""
    return one.type == "queue" or (one.type == "r2_bucket" and "bucket_name" in one.fields)


def _find_name_conflicts(
    function: FunctionDraft, bindings: Sequence[Binding]
) -> Iterator[Unsupported]:
    taken = {name: "a variable" for name in function.variables}
    for one in bindings:
        if not one.is_for(function.name):
            continue
        other = taken.setdefault(one.name, _format_spot(one.spot))
        if other != _format_spot(one.spot):
            why = f"has the binding `{one.name}` twice: `{_format_spot(one.spot)}` and {other}"
            problem = function_problem(function.name, why, "rename one of them")
            yield Unsupported(function.name, problem)


def _find_consumer_problems(
    section: JsonObject, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    readers: dict[str, str] = {}
    for one in functions:
        for number, trigger in enumerate(_read_triggers(one)):
            if trigger.get("type") != "queue":
                continue
            queue = str(trigger.get("queue"))
            first = readers.setdefault(queue, one.name)
            if first != one.name:
                why = f"reads the queue `{queue}`, which `{first}` reads"
                problem = function_problem(
                    one.name, why, "a queue of Cloudflare has one consumer: use one function"
                )
                yield Unsupported(one.name, problem, number)
    for number, queue in enumerate(_list_consumer_rows(section)):
        if queue not in readers:
            spot = ("queues", "consumers", str(number))
            hint = f"add the trigger `{{type: queue, queue: {queue}}}` to a function"
            yield _spot_problem(spot, f"has the queue `{queue}`, which no function reads", hint)


def _read_triggers(one: FunctionDraft) -> list[Mapping[str, Any]]:
    return [json.loads(text) for text in one.triggers]


def _find_object_problems(section: JsonObject, names: frozenset[str]) -> Iterator[Unsupported]:
    plan = plan_objects(section)
    if plan is None:
        if section.get("migrations"):
            hint = "add `durable_objects` with `function` and `bindings`"
            yield _spot_problem(("migrations",), "has no classes of this service", hint)
        return
    if plan.function not in names:
        why = (
            f"names the function `{plan.function}`, which the service does not have"
            if plan.function
            else "has no `function` whose module exports the classes"
        )
        hint = f"functions: {', '.join(sorted(names))}"
        yield _spot_problem(("durable_objects",), why, hint)
    if "objects" in names:
        why = "needs the name of the function `objects` for the Worker with the classes"
        yield _spot_problem(("durable_objects",), why, "rename the function")
    there = plan.classes
    for number, name in enumerate(plan.used):
        if name not in there:
            hint = f"add a migration, such as `{{tag: v1, new_sqlite_classes: [{name}]}}`"
            spot = ("durable_objects", "bindings", str(number))
            yield _spot_problem(spot, f"uses the class `{name}`, which no migration creates", hint)


class ObjectsPlan(Struct, frozen=True):
    """The classes of Durable Objects that a service has itself."""

    function: str
    # The classes that bindings of the service name.
    used: tuple[str, ...]
    migrations: tuple[JsonObject, ...] = ()
    is_deleted: bool = False

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes after all migrations."""
        found: dict[str, None] = {}
        for step in self.migrations:
            for name in _read_new_classes(step):
                found[name] = None
            for old, new in _read_renames(step):
                found.pop(old, None)
                found[new] = None
            for name in _read_texts(step, "deleted_classes"):
                found.pop(name, None)
        return tuple(found)

    @property
    def tag(self) -> str:
        return str(self.migrations[-1]["tag"]) if self.migrations else ""

    def list_pending(self, applied: str) -> tuple[JsonObject, ...]:
        """List the migrations after the applied one; all if it is not known."""
        tags = [str(one["tag"]) for one in self.migrations]
        return self.migrations[tags.index(applied) + 1 if applied in tags else 0 :]


def _read_texts(step: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(step.get(key) or ())


def _read_new_classes(step: Mapping[str, Any]) -> Iterator[str]:
    yield from _read_texts(step, "new_sqlite_classes")
    yield from _read_texts(step, "new_classes")
    yield from (one["to"] for one in step.get("transferred_classes") or ())


def _read_renames(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((one["from"], one["to"]) for one in step.get("renamed_classes") or ())


def plan_objects(section: JsonObject) -> ObjectsPlan | None:
    """Plan the classes of the service; None if it has no classes."""
    objects, given = _read_map(section, "durable_objects"), dict[str, Any](section)
    rows = [one for one in objects.get("bindings") or () if not one.get("script_name")]
    if not rows:
        return None
    return ObjectsPlan(
        str(objects.get("function") or ""),
        tuple(one["class_name"] for one in rows),
        tuple(given.get("migrations") or ()),
        is_deleted=objects.get("onRemove") == "delete",
    )
