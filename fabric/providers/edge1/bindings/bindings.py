"""Bindings of Workers: from the config to the bindings of each function, without an API call.

The config has Wrangler's names. A binding of something that fabric creates has its id only after
the resource was found or created.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress
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
    # Named after service, stage and binding, so that it belongs to the service.
    has_own_name: bool = False

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
    # It has an id, and keys for a resource that fabric creates.
    has_extra: bool = False

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


KINDS: Mapping[str, _Kind] = {
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
    variables = (_bind_variable(*pair) for pair in read_map(section, "vars").items())
    rows = (_bind(address, one) for one in _list_rows(section, address))
    unsafe = (
        Binding(
            name=row["name"],
            type=row["type"],
            spot=("unsafe", "bindings", str(number)),
            fields={key: value for key, value in row.items() if key not in ("name", "type")},
        )
        for number, row in enumerate(read_map(section, "unsafe").get("bindings") or ())
    )
    return (*variables, *rows, *unsafe)


class _Row(Struct, frozen=True):
    """An entry of the config, and its place below `bindings`."""

    kind: _Kind
    spot: tuple[str, ...]
    keys: Mapping[str, Any]


def _list_rows(section: JsonObject, address: DeploymentAddress) -> Iterator[_Row]:
    lists: dict[tuple[str, ...], _Kind] = {(key,): kind for key, kind in KINDS.items()}
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
            yield _Row(_Kind(key), (key,), read_map(section, key))


def _add_script(
    address: DeploymentAddress, kind: _Kind, row: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Add the Worker that has the classes of a service to its Durable Objects."""
    if kind is not _OBJECT or row.get("script_name"):
        return row
    return {**row, "script_name": build_objects_name(address)}


def read_map(section: JsonObject, key: str) -> Mapping[str, Any]:
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
        return replace(made, has_extra=has_id and bool(row.keys() & {"create", "onRemove"}))
    title = row.get(kind.title_key)
    resource = Resource(
        kind.resource,
        title or _build_title(address, name),
        create=bool(row.get("create")),
        is_deleted=row.get("onRemove") == "delete",
        jurisdiction=row.get("jurisdiction") or "",
        has_own_name=not title,
    )
    return replace(made, resource=resource, id_key=kind.id_key)


def _build_title(address: DeploymentAddress, binding: str) -> str:
    """Build the name of a resource that the config does not name."""
    text = f"{build_gate_name(address)}-{binding}".lower()
    return shorten_name(_OTHERS.sub("-", text).strip("-"), _NAME_LENGTH)


def build_objects_name(address: DeploymentAddress) -> str:
    """Build the name of the Worker with the classes of the Durable Objects."""
    return shorten_name(f"{build_gate_name(address)}-objects", _NAME_LENGTH)
