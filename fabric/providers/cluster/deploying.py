"""Deploy to Kubernetes: apply all objects of the functions in one call, then wait for their
pods."""

from collections.abc import Mapping, Sequence

from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.applying import ClusterWork, brought_up
from fabric.providers.cluster.archives import archive_name
from fabric.providers.cluster.cron_jobs import ZONED, crons_in, zone_of
from fabric.providers.cluster.manifests import FunctionPlan, function_objects
from fabric.providers.cluster.names import ARTIFACT, MARK, PARTS, own_name
from fabric.providers.cluster.objects import KubeObject, by_key, texts_at
from fabric.providers.cluster.rollout import is_rolled_out, rolled_out
from fabric.providers.contract import FunctionOrder, LiveFunction


def deployed(work: ClusterWork, orders: Sequence[FunctionOrder]) -> tuple[LiveFunction, ...]:
    minor = _minor(work, orders)
    plans = [FunctionPlan(work.address, order, work.own, minor) for order in orders]
    wanted = [one for plan in plans for one in function_objects(plan)]
    things = sorted(by_key(wanted).values(), key=_place)
    brought_up(work, things, work.there())
    rolled_out(work, [f"Deployment/{own_name(work.address, order.name)}" for order in orders])
    return tuple(_live(work, order) for order in orders)


# What others stand on comes first: a pod that finds no archive waits for it.
_ORDER = ("ConfigMap", "Secret", "Service", "CronJob", "Deployment")


def _place(thing: KubeObject) -> int:
    return _ORDER.index(str(thing["kind"]))


def _minor(work: ClusterWork, orders: Sequence[FunctionOrder]) -> int:
    """Return the minor version of the cluster, which only schedules need."""
    crons = [(order.name, one) for order in orders for one in crons_in(order.triggers)]
    if not crons:
        return 0
    _, minor = work.tool.version()
    if minor < ZONED:
        late = [(name, zone_of(one)) for name, one in crons if zone_of(one) not in ("", "UTC")]
        if late:
            raise FabricError(*(_no_zone(name, zone, minor) for name, zone in late))
    return minor


def _no_zone(function: str, zone: str, minor: int) -> Problem:
    message = (
        f"function `{function}` has a schedule in the time zone `{zone}`, which Kubernetes "
        f"1.{minor} does not support"
    )
    return Problem("deploy/timezone", message, f"use Kubernetes 1.{ZONED} or later, or UTC")


def _live(work: ClusterWork, order: FunctionOrder) -> LiveFunction:
    return LiveFunction(
        order.name,
        own_name(work.address, order.name),
        archive_name(work.address, order.name, order.artifact.sha256),
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
    )


def found(work: ClusterWork, function: str, mark: str) -> LiveFunction | None:
    """Find a function. With a mark, all its objects must match and all its pods must be ready."""
    name = own_name(work.address, function)
    there = work.there()
    deployment = there.get(f"Deployment/{name}")
    if deployment is None:
        return None
    said = texts_at(deployment, "metadata", "annotations")
    if mark and not (said.get(MARK) == mark and _is_whole(deployment, there)):
        return None
    sha256 = said.get(ARTIFACT, "")
    resource_id = archive_name(work.address, function, sha256)
    own = said.get(MARK, "")
    return LiveFunction(function, name, resource_id, artifact_sha256=sha256, mark=own)


def _is_whole(deployment: KubeObject, there: Mapping[str, KubeObject]) -> bool:
    """Return whether all objects have this mark: an interrupted call can have applied only some."""
    said = texts_at(deployment, "metadata", "annotations")
    parts = [there.get(name) for name in said.get(PARTS, "").split()]
    marks = {
        texts_at(one, "metadata", "annotations").get(MARK, said.get(MARK)) for one in parts if one
    }
    return all(parts) and marks <= {said.get(MARK)} and is_rolled_out(deployment)
