"""Deploy to Kubernetes: apply all objects of the functions in one call, then wait for their
pods."""

from collections.abc import Mapping, Sequence

from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.applying import ClusterWork, apply_changes
from fabric.providers.cluster.archives import build_archive_name
from fabric.providers.cluster.events import ZONED, list_crons, read_time_zone
from fabric.providers.cluster.manifests import FunctionPlan, build_function_objects
from fabric.providers.cluster.names import ARTIFACT, MARK, PARTS, build_object_name
from fabric.providers.cluster.objects import KubeObject, group_by_key, read_texts_at
from fabric.providers.cluster.rollout import is_rolled_out, wait_for_rollout
from fabric.providers.core.contract import FunctionOrder, LiveFunction


def deploy_orders(work: ClusterWork, orders: Sequence[FunctionOrder]) -> tuple[LiveFunction, ...]:
    minor = _read_minor_version(work, orders)
    plans = [FunctionPlan(work.address, order, work.own, minor) for order in orders]
    wanted = [one for plan in plans for one in build_function_objects(plan)]
    things = sorted(group_by_key(wanted).values(), key=_place)
    apply_changes(work, things, work.there())
    wait_for_rollout(
        work, [f"Deployment/{build_object_name(work.address, order.name)}" for order in orders]
    )
    return tuple(_build_live_function(work, order) for order in orders)


# What others stand on comes first: a pod that finds no archive waits for it.
_ORDER = ("ConfigMap", "Secret", "Service", "CronJob", "Deployment")


def _place(thing: KubeObject) -> int:
    return _ORDER.index(str(thing["kind"]))


def _read_minor_version(work: ClusterWork, orders: Sequence[FunctionOrder]) -> int:
    """Return the minor version of the cluster, which only schedules need."""
    crons = [(order.name, one) for order in orders for one in list_crons(order.triggers)]
    if not crons:
        return 0
    _, minor = work.tool.version()
    if minor < ZONED:
        late = [
            (name, read_time_zone(one))
            for name, one in crons
            if read_time_zone(one) not in ("", "UTC")
        ]
        if late:
            raise FabricError(*(_time_zone_problem(name, zone, minor) for name, zone in late))
    return minor


def _time_zone_problem(function: str, zone: str, minor: int) -> Problem:
    message = (
        f"function `{function}` has a schedule in the time zone `{zone}`, which Kubernetes "
        f"1.{minor} does not support"
    )
    return Problem("deploy/timezone", message, f"use Kubernetes 1.{ZONED} or later, or UTC")


def _build_live_function(work: ClusterWork, order: FunctionOrder) -> LiveFunction:
    return LiveFunction(
        order.name,
        build_object_name(work.address, order.name),
        build_archive_name(work.address, order.name, order.artifact.sha256),
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )


def find_function(work: ClusterWork, function: str, mark: str) -> LiveFunction | None:
    """Find a function. With a mark, all its objects must match and all its pods must be ready."""
    name = build_object_name(work.address, function)
    there = work.there()
    deployment = there.get(f"Deployment/{name}")
    if deployment is None:
        return None
    said = read_texts_at(deployment, "metadata", "annotations")
    if mark and not (said.get(MARK) == mark and _is_whole(deployment, there)):
        return None
    sha256 = said.get(ARTIFACT, "")
    resource_id = build_archive_name(work.address, function, sha256)
    own = said.get(MARK, "")
    return LiveFunction(function, name, resource_id, artifact_sha256=sha256, mark=own)


def _is_whole(deployment: KubeObject, there: Mapping[str, KubeObject]) -> bool:
    """Return whether all objects have this mark: an interrupted call can have applied only some."""
    said = read_texts_at(deployment, "metadata", "annotations")
    parts = [there.get(name) for name in said.get(PARTS, "").split()]
    marks = {
        read_texts_at(one, "metadata", "annotations").get(MARK, said.get(MARK))
        for one in parts
        if one
    }
    return all(parts) and marks <= {said.get(MARK)} and is_rolled_out(deployment)
