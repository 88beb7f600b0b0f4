"""Resources that bindings use: found by their names, created if the config asks for it, and deleted
with the service only if it asks for that."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.release_state import ReleaseState, read_kept_texts
from fabric.providers.edge1.bindings.bindings import (
    Binding,
    Resource,
    ResourceKind,
    list_bindings,
)
from fabric.providers.edge1.bindings.consumers import list_consumer_queues
from fabric.providers.edge1.client import build_worker_name, build_worker_owner
from fabric.providers.edge1.uploads import build_reserved_upload
from fabric.providers.edge1.versions import list_worker_versions, upload_version
from fabric.providers.edge1.work import VERSION, Edge1Work

_PAGE = 100
_JURISDICTION = "cf-r2-jurisdiction"
_NOT_EMPTY = "10008"


class StoredResource(Struct, frozen=True, omit_defaults=True):
    """A resource in the values that a release stores. fabric deletes only what it created."""

    id: str
    is_created: bool = False
    is_deleted: bool = False
    jurisdiction: str = ""


class _Row(Struct, frozen=True):
    """A resource in a list or in the response to its creation, of any kind."""

    id: str = ""
    uuid: str = ""
    queue_id: str = ""
    title: str = ""
    name: str = ""
    queue_name: str = ""

    @property
    def ident(self) -> str:
        return self.id or self.uuid or self.queue_id or self.name

    @property
    def label(self) -> str:
        return self.title or self.queue_name or self.name


class _Calls(Struct, frozen=True):
    """The calls of one kind below the account. `list_query` has the name and the page."""

    path: str
    name_key: str
    list_query: str


_CALLS = {
    ResourceKind.KV: _Calls(
        "/storage/kv/namespaces", "title", "per_page=100&order=title&direction=asc&page={page}"
    ),
    ResourceKind.D1: _Calls("/d1/database", "name", "name={name}&per_page=100&page={page}"),
    ResourceKind.QUEUE: _Calls("/queues", "queue_name", "name={name}&page={page}"),
    ResourceKind.R2: _Calls("/r2/buckets", "name", ""),
}


def resolve_bindings(
    work: Edge1Work, address: DeploymentAddress, function: str
) -> tuple[JsonObject, ...]:
    """Return the bindings of a function for the API, with the ids of their resources."""
    kept = read_kept_texts(address)
    mine = [one for one in list_bindings(work.own.bindings, address) if one.is_for(function)]
    return tuple(_resolve(work, address, one, kept) for one in mine)


def _resolve(
    work: Edge1Work, address: DeploymentAddress, one: Binding, kept: ReleaseState
) -> JsonObject:
    if one.target and not kept.texts.get(VERSION + one.target):
        _reserve(work, address, one.target)
    if one.resource is None:
        return one.build()
    ident = find_or_create(work, one.resource, kept)
    return one.build(one.resource.name if one.resource.is_bound_by_name else ident)


def _reserve(work: Edge1Work, address: DeploymentAddress, function: str) -> None:
    """Create the Worker of a function that another one binds to, if it has no version yet.

    Functions are deployed in any order, and two can bind to each other.
    """
    name, owner = build_worker_name(address, function), build_worker_owner(address, function)

    def look() -> str:
        if list_worker_versions(work, name) is not None:
            return name
        return upload_version(work, name, build_reserved_upload(owner, work.own.compatibility_date))

    work.api.resources.find(f"worker:{name}", look)


def find_or_create(work: Edge1Work, resource: Resource, kept: ReleaseState) -> str:
    """Return the id of a resource, without a call if the last release stored it."""
    stored = _read_stored(kept.sure(resource.key))
    if stored:
        return stored.id
    if not resource.create and resource.is_bound_by_name:
        return resource.name  # the upload fails if it does not exist
    return work.api.resources.find(resource.key, lambda: _find_or_create(work, resource))


def find_queue_id(work: Edge1Work, queue: Resource, kept: ReleaseState) -> str:
    """Return the id of a queue for the calls of its consumers."""
    stored = _read_stored(kept.sure(queue.key))
    if stored:
        return stored.id
    return work.api.resources.find(queue.key, lambda: _require(queue, _look(work, queue)))


def look_for_queue(work: Edge1Work, queue: Resource, kept: ReleaseState) -> str:
    """Return the id of a queue; empty if it no longer exists."""
    stored = _read_stored(kept.sure(queue.key))
    return stored.id if stored else getattr(_look(work, queue), "ident", "")


def _require(resource: Resource, found: _Row | None) -> str:
    if found is not None:
        return found.ident
    message = f"{resource.title} does not exist"
    hint = "create it, or add `create: true` to its entry below `bindings`"
    raise FabricError(Problem("deploy/resource-missing", message, hint))


def _find_or_create(work: Edge1Work, resource: Resource) -> str:
    with work.convert_errors(resource.title):
        if not resource.create:
            return _require(resource, _look(work, resource))
        made = work.trying(lambda once: _look_or_create(once, resource))
    if work.api.resources.is_created(resource.key):
        work.watch.hear(f"{resource.title} was created")
    elif not resource.has_own_name:
        work.watch.hear(f"{resource.title} existed before, and `fabric remove` keeps it")
    return made


def _look_or_create(work: Edge1Work, resource: Resource) -> str:
    """Return the id. A resource from a call with a lost response is found by the next try."""
    found = _look(work, resource)
    if found is not None:
        return found.ident
    calls = _CALLS[resource.kind]
    call = build_json_call("POST", work.account_path(calls.path), {calls.name_key: resource.name})
    work.api.resources.note_created(resource.key)
    return work.api.once(_with_jurisdiction(call, resource), _Row).ident


def _look(work: Edge1Work, resource: Resource) -> _Row | None:
    """Find a resource by its name. Lists are read page by page."""
    calls = _CALLS[resource.kind]
    if resource.kind is ResourceKind.R2:
        path = work.account_path(f"{calls.path}/{quote(resource.name, safe='')}")
        return work.look(_with_jurisdiction(ProviderCall("GET", path), resource), _Row)
    page = 1
    while True:
        query = calls.list_query.format(name=quote(resource.name, safe=""), page=page)
        call = ProviderCall("GET", work.account_path(f"{calls.path}?{query}"))
        rows = work.ask(call, tuple[_Row, ...])
        found = next((one for one in rows if one.label == resource.name), None)
        if found is not None or len(rows) < _PAGE or resource.kind is ResourceKind.QUEUE:
            return found
        page += 1


def _with_jurisdiction(call: ProviderCall, resource: Resource) -> ProviderCall:
    if not resource.jurisdiction:
        return call
    headers = ((_JURISDICTION, resource.jurisdiction),)
    return ProviderCall(call.method, call.path, call.content, call.content_type, headers)


def _list_created(work: Edge1Work, address: DeploymentAddress) -> dict[str, Resource]:
    """List the resources that the config lets fabric create."""
    section = work.own.bindings
    bound = (one.resource for one in list_bindings(section, address) if one.resource)
    created = [one for one in (*bound, *list_consumer_queues(section)) if one.create]
    return {one.key: one for one in created}


class StoredResources(Struct, frozen=True):
    """The values that a release stores of resources, and the outputs with their ids."""

    texts: dict[str, str]
    outputs: dict[str, str]


def store_resources(
    work: Edge1Work, address: DeploymentAddress, kept: ReleaseState
) -> StoredResources:
    """Find the ids of all created resources. Those without a binding stay stored, so that a removal
    still knows them."""
    rows = {**_list_unbound(work, address, kept)}
    created = _list_created(work, address)
    for key, one in created.items():
        before = _read_stored(kept.texts.get(key))
        ident = find_or_create(work, one, kept)
        is_ours = one.has_own_name or work.api.resources.is_created(key)
        is_same = before is not None and before.id == ident
        rows[key] = StoredResource(
            ident,
            is_created=is_ours or (is_same and before is not None and before.is_created),
            is_deleted=one.is_deleted,
            jurisdiction=one.jurisdiction,
        )
    outputs = {
        f"id_{one.name}": rows[one.resource.key].id
        for one in list_bindings(work.own.bindings, address)
        if one.resource and one.resource.key in created
    }
    texts = {key: msgspec.json.encode(one).decode() for key, one in rows.items()}
    return StoredResources(texts, outputs)


def _list_unbound(
    work: Edge1Work, address: DeploymentAddress, kept: ReleaseState
) -> dict[str, StoredResource]:
    """List the stored resources that the config no longer lets fabric create. A resource that
    the config still binds in another way is never deleted."""
    created, bindings = _list_created(work, address), list_bindings(work.own.bindings, address)
    bound = {str(value) for one in bindings for value in one.fields.values()}
    bound |= {one.resource.name for one in bindings if one.resource}
    found: dict[str, StoredResource] = {}
    for key, text in kept.texts.items():
        stored = _read_stored(text) if _parse_key(key) and key not in created else None
        if stored:
            is_bound = bool({stored.id, key.partition(":")[2]} & bound)
            found[key] = replace(stored, is_deleted=stored.is_deleted and not is_bound)
    return found


def _read_stored(text: str | None) -> StoredResource | None:
    return msgspec.json.decode(text, type=StoredResource) if text else None


def delete_resources(work: Edge1Work, address: DeploymentAddress) -> None:
    """Delete the resources that fabric created with `onRemove: delete`, and report the others.

    An interrupted first deploy stored nothing: its resources are found by their names.
    """
    kept = read_kept_texts(address)
    unbound, created = _list_unbound(work, address, kept), _list_created(work, address)
    for key in sorted({*unbound, *created}):
        stored = unbound.get(key) or _read_stored(kept.texts.get(key))
        resource = created.get(key) or _parse_key(key)
        if resource is None:
            continue
        if stored and key not in created:
            deleted, place = stored.is_deleted, stored.jurisdiction
            resource = replace(resource, is_deleted=deleted, jurisdiction=place)
        is_ours = resource.has_own_name or work.api.resources.is_created(key)
        is_ours = is_ours or (stored is not None and stored.is_created)
        with work.convert_errors(resource.title):
            _settle(work, resource, stored.id if stored else "", is_ours=is_ours)
        work.api.resources.forget(key)


def find_missing_resources(work: Edge1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the created resources that were deleted outside of fabric, or replaced by others."""
    for key, text in sorted(read_kept_texts(address).texts.items()):
        resource, stored = _parse_key(key), None
        if resource is not None:
            stored = _read_stored(text)
        if resource is None or stored is None:
            continue
        found = _look(work, replace(resource, jurisdiction=stored.jurisdiction))
        if found is None:
            yield resource.title
        elif stored.id not in (found.ident, found.name):
            yield f"{resource.title} with the id {stored.id}"


def _settle(work: Edge1Work, resource: Resource, stored: str, *, is_ours: bool) -> None:
    """Delete a resource, or report why it is kept."""
    ident = stored or getattr(_look(work, resource), "ident", "")
    if not ident:
        return
    if resource.is_deleted and is_ours:
        _delete(work, resource, ident)
        return
    why = "it existed before" if resource.is_deleted else "`onRemove: delete` is not set"
    work.watch.hear(f"{resource.title} is kept: {why}")


def _parse_key(key: str) -> Resource | None:
    kind, _, name = key.partition(":")
    known = ResourceKind.__members__.get(kind.upper())
    return Resource(known, name) if known and name else None


def _delete(work: Edge1Work, resource: Resource, ident: str) -> None:
    path = work.account_path(f"{_CALLS[resource.kind].path}/{quote(ident, safe='')}")
    try:
        work.tell(_with_jurisdiction(ProviderCall("DELETE", path), resource))
    except RefusedCallError as error:
        if error.is_gone:
            return
        if _NOT_EMPTY not in error.codes:
            raise
        work.watch.hear(f"{resource.title} is kept: it is not empty")
        return
    work.watch.hear(f"{resource.title} was deleted")


class ConsumerRow(Struct, frozen=True):
    """A consumer of a queue at Cloudflare."""

    consumer_id: str = ""
    script: str = ""
    script_name: str = ""

    @property
    def worker(self) -> str:
        return self.script_name or self.script


def list_consumers(work: Edge1Work, queue_id: str) -> tuple[ConsumerRow, ...]:
    """List the consumers of a queue; none if it no longer exists."""
    path = work.account_path(f"/queues/{queue_id}/consumers")
    return work.look(ProviderCall("GET", path), tuple[ConsumerRow, ...]) or ()


def put_consumer(work: Edge1Work, queue_id: str, consumer: str, document: Any) -> None:
    """Create a consumer, or replace its settings."""
    path = work.account_path(f"/queues/{queue_id}/consumers")
    method, path = ("PUT", f"{path}/{consumer}") if consumer else ("POST", path)
    work.tell(build_json_call(method, path, document))


def delete_consumer(work: Edge1Work, queue_id: str, consumer: str) -> None:
    with ignore_missing():
        path = work.account_path(f"/queues/{queue_id}/consumers/{consumer}")
        work.tell(ProviderCall("DELETE", path))
