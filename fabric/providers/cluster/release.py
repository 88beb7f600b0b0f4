"""Release on Kubernetes: update the ingress and delete unused objects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import Problem, raise_if_any
from fabric.providers.cluster.applying import ClusterWork, apply_changes
from fabric.providers.cluster.gate_objects import build_gate_objects
from fabric.providers.cluster.objects import (
    PARTS,
    KubeObject,
    build_object_name,
    format_key,
    read_rows_at,
    read_text_at,
    read_texts_at,
)
from fabric.providers.cluster.rollout import is_rolled_out, wait_for_rollout
from fabric.providers.cluster.routes import Routed, build_ingress, read_endpoint
from fabric.providers.core.contract import LiveFunction, Released
from fabric.providers.core.images import delete_recorded_images
from fabric.providers.core.retry import poll_until
from fabric.providers.core.triggers import build_function_endpoint

_HINT = "set a separate `hostname` for the service below `extensions.cluster-orchestrator`"


class Entrance(Struct, frozen=True):
    """The result of opening the ingress. `names` are all its objects; with `is_new` the Ingress was
    applied.

    `is_open` is false for functions without a route.
    """

    names: frozenset[str] = frozenset()
    is_new: bool = False

    @property
    def is_open(self) -> bool:
        return bool(self.names)


def open_ingress(
    work: ClusterWork, functions: Sequence[Routed], there: Mapping[str, KubeObject]
) -> Entrance:
    """Open the ingress. All gateway pods know the routes before they receive traffic."""
    _refuse_taken(work, build_ingress(work.address, functions, work.own), there)
    gate = build_gate_objects(work.address, functions, work.own, there)
    if gate:
        _bring_up_gate(work, gate, there)
    wanted = build_ingress(
        work.address, functions, work.own, build_object_name(work.address) if gate else ""
    )
    if wanted is None:
        return Entrance()
    is_new = apply_changes(work, [wanted], there)
    return Entrance(frozenset(map(format_key, (*gate, wanted))), is_new)


def _refuse_taken(
    work: ClusterWork, wanted: KubeObject | None, there: Mapping[str, KubeObject]
) -> None:
    """Raise if another Ingress has these paths, with or without a gateway."""
    known = there.get(format_key(wanted)) if wanted else None
    if wanted and not _has_all_routes(known, wanted):
        raise_if_any(_find_taken_routes(wanted, work.tool.ingresses()))


def _bring_up_gate(
    work: ClusterWork, gate: Sequence[KubeObject], there: Mapping[str, KubeObject]
) -> None:
    name = format_key(gate[-1])
    known = there.get(name)
    if apply_changes(work, gate, there) or known is None or not is_rolled_out(known):
        wait_for_rollout(work, [name])


# Routes that another Ingress has already. No effects.
# If two Ingresses have the same host and path, controllers choose one without an error.


def _find_taken_routes(wanted: KubeObject, others: Iterable[KubeObject]) -> Iterator[Problem]:
    """Yield one problem for each other Ingress with any of the wanted paths."""
    own = frozenset(_list_routes(wanted))
    for other in others:
        taken = sorted(own.intersection(_list_routes(other)))
        if taken and format_key(other) != format_key(wanted) and _is_same_controller(wanted, other):
            yield _route_conflict_problem(other, taken)


def _has_all_routes(known: KubeObject | None, wanted: KubeObject) -> bool:
    """Return whether the Ingress has all these routes already."""
    return known is not None and frozenset(_list_routes(wanted)) <= frozenset(_list_routes(known))


def _list_routes(ingress: KubeObject) -> Iterator[tuple[str, str, str]]:
    """Yield host, path and path type."""
    for rule in read_rows_at(ingress, "spec", "rules"):
        for row in read_rows_at(rule, "http", "paths"):
            yield (
                read_text_at(rule, "host"),
                read_text_at(row, "path"),
                read_text_at(row, "pathType"),
            )


def _is_same_controller(one: KubeObject, other: KubeObject) -> bool:
    """Return whether one controller can serve both. An Ingress without a class belongs to the
    cluster's default controller."""
    classes = {read_text_at(each, "spec", "ingressClassName") for each in (one, other)}
    return "" in classes or len(classes) == 1


def _route_conflict_problem(other: KubeObject, taken: list[tuple[str, str, str]]) -> Problem:
    host, path, _ = taken[0]
    at = f" of the host `{host}`" if host else ""
    more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
    message = f"`{format_key(other)}` already routes `{path}`{at}{more} to another service"
    return Problem("deploy/route-taken", message, _HINT)


_ADDRESS_SECONDS = 30.0


def release_service(work: ClusterWork, functions: Sequence[LiveFunction]) -> Released:
    functions = [one for one in functions if one.resource_id]
    there = work.there()
    entrance = open_ingress(work, functions, there)
    stale = there.keys() - entrance.names - set(_list_needed_objects(work, functions, there))
    _take_away(work, sorted(stale))
    endpoint = _wait_for_endpoint(work, there, is_new=entrance.is_new) if entrance.is_open else ""
    return Released(endpoint, tuple(_build_outputs(functions, endpoint)))


def _wait_for_endpoint(work: ClusterWork, there: Mapping[str, KubeObject], *, is_new: bool) -> str:
    """Wait for the endpoint. A controller assigns the address of an Ingress later, or never."""
    name = f"Ingress/{build_object_name(work.address)}"
    found = read_endpoint(there.get(name), work.own)
    if found or not is_new:
        return found

    def look() -> str | None:
        return (
            next((read_endpoint(one, work.own) for one in work.tool.find_named([name])), "") or None
        )

    work.scope.watch.hear("waiting for the address of the Ingress")
    waiting = replace(work.scope.waiting, most=min(work.scope.waiting.most, _ADDRESS_SECONDS))
    address = poll_until(look, waiting, work.scope.watch)
    if address is None:
        work.scope.watch.hear("the Ingress has no address yet: requests use `hostname`")
    return address or ""


def _list_needed_objects(
    work: ClusterWork, functions: Sequence[LiveFunction], there: Mapping[str, KubeObject]
) -> Iterator[str]:
    """Yield all objects of these functions, and the archives of rollback targets."""
    for one in functions:
        name = f"Deployment/{build_object_name(work.address, one.name)}"
        yield name
        yield from read_texts_at(there.get(name), "metadata", "annotations").get(PARTS, "").split()
    archives = {one.resource_id for one in functions} | set(_list_past_archives(work))
    for name, thing in there.items():
        if read_text_at(thing, "kind") == "ConfigMap" and _is_archive_part(name, archives):
            yield name


def _list_past_archives(work: ClusterWork) -> Iterator[str]:
    record = work.address.previous
    rows = () if record is None else record.history
    yield from (one.resource_id for past in rows for one in past.functions)
    yield from (one.resource_id for one in (record.functions if record else ()))


def _is_archive_part(name: str, archives: set[str]) -> bool:
    """Return whether the name is a known archive, possibly followed by a part number."""
    whole = name.removeprefix("ConfigMap/")
    first, _, number = whole.rpartition("-")
    return whole in archives or (number.isdecimal() and first in archives)


def _take_away(work: ClusterWork, names: Sequence[str]) -> None:
    if names:
        work.scope.watch.hear(f"deleting {', '.join(names)}")
        work.tool.delete(names, work.scope.watch)


def _build_outputs(functions: Sequence[LiveFunction], endpoint: str) -> Iterator[tuple[str, str]]:
    if endpoint:
        yield "url", endpoint
    for one in functions:
        below = build_function_endpoint(endpoint, one.triggers)
        if below:
            yield f"url_{one.name}", below


def delete_functions(work: ClusterWork, functions: Sequence[LiveFunction]) -> None:
    """Delete single functions after closing their routes."""
    there = work.there()
    gone = {one.name for one in functions}
    record = work.address.previous
    left = [one for one in (record.functions if record else ()) if one.name not in gone]
    at = f"Ingress/{build_object_name(work.address)}"
    entrance = open_ingress(work, left, there) if at in there else Entrance()
    gone_names = {build_object_name(work.address, one) for one in gone}
    own = [name for name, thing in there.items() if _label(thing) in gone_names]
    _take_away(work, sorted([*own, *(_list_ingress_objects(work, there) - entrance.names)]))
    _delete_images(work, gone)


def _list_ingress_objects(work: ClusterWork, there: Mapping[str, KubeObject]) -> frozenset[str]:
    """List all ingress objects, including those of an older gateway."""
    name = build_object_name(work.address)
    return frozenset(
        one for one, thing in there.items() if _label(thing) == name or one == f"Ingress/{name}"
    )


def _label(thing: KubeObject) -> str:
    return read_texts_at(thing, "metadata", "labels").get("app.kubernetes.io/name", "")


def delete_service(work: ClusterWork) -> None:
    """Delete all objects with our labels, ingress first."""
    there = work.there()
    _take_away(work, sorted(there, key=lambda name: (not name.startswith("Ingress/"), name)))
    record = work.address.previous
    _delete_images(work, [one.name for one in record.functions] if record else [])


def _delete_images(work: ClusterWork, names: Iterable[str]) -> None:
    record, watch = work.address.previous, work.scope.watch
    if work.open_registries is not None:
        delete_recorded_images(work.open_registries, record, names, watch)
