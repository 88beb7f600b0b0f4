"""Deploy to Kubernetes: apply all objects of the functions in one call, then wait for their
pods."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

from msgspec import Struct

from fabric.model.calls.sample_events import sample_event
from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.applying import ClusterWork, apply_changes
from fabric.providers.cluster.archives import (
    build_archive_maps,
    build_archive_name,
    build_runtime_map,
    build_runtime_name,
    list_archive_names,
)
from fabric.providers.cluster.client import ClusterSettings
from fabric.providers.cluster.images import push_images
from fabric.providers.cluster.limits import missing_image_problem
from fabric.providers.cluster.object_settings import AUTOSCALER, build_autoscaler
from fabric.providers.cluster.objects import (
    ARTIFACT,
    IMAGE,
    MARK,
    PARTS,
    TAGS,
    KubeObject,
    build_cron_name,
    build_function_labels,
    build_object_name,
    format_key,
    group_by_key,
    read_texts_at,
)
from fabric.providers.cluster.pods import PodPlan, build_job_template, build_pod_template
from fabric.providers.cluster.rollout import is_rolled_out, wait_for_rollout
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.payloads import format_json
from fabric.providers.core.serving import ServerRuntime, find_server_runtime
from fabric.providers.core.sources import build_handler_settings, read_timeout
from fabric.providers.core.triggers import convert_to_five_fields

# Versions of a cluster's API from which on: jobs that are stable, and jobs that know time zones.
_STABLE, ZONED = 21, 25
_UTC = "Etc/UTC"
_LONGEST_SECONDS = 3600


def list_crons(triggers: Iterable[str]) -> list[dict[str, object]]:
    found = (json.loads(text) for text in triggers)
    return [one for one in found if one.get("type") == "cron"]


def read_time_zone(trigger: dict[str, object]) -> str:
    return str(trigger.get("timezone") or "")


def build_cron_jobs(plan: PodPlan, triggers: Sequence[str], minor: int) -> Iterator[KubeObject]:
    for number, trigger in enumerate(list_crons(triggers)):
        labels = build_function_labels(plan.address, plan.order.name)
        name = build_cron_name(plan.address, plan.order.name, number)
        version = "batch/v1" if minor >= _STABLE else "batch/v1beta1"
        yield {
            "apiVersion": version,
            "kind": "CronJob",
            "metadata": {"name": name, "labels": labels, "annotations": {MARK: plan.order.mark}},
            "spec": _build_spec(plan, trigger, minor),
        }


def _build_spec(plan: PodPlan, trigger: dict[str, object], minor: int) -> KubeObject:
    zone = {"timeZone": read_time_zone(trigger) or _UTC} if minor >= ZONED else {}
    event = format_json(sample_event("cron", trigger))
    job = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": read_timeout(plan.order) or _LONGEST_SECONDS,
        "template": build_job_template(plan, event),
    }
    return {
        "schedule": convert_to_five_fields(str(trigger.get("schedule", ""))),
        **zone,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 200,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 3,
        "jobTemplate": {"spec": job},
    }


def deploy_orders(work: ClusterWork, orders: Sequence[FunctionOrder]) -> tuple[LiveFunction, ...]:
    minor = _read_minor_version(work, orders)
    orders = push_images(work, orders)
    plans = [FunctionPlan(work.address, order, work.own, minor) for order in orders]
    wanted = [one for plan in plans for one in _build_function_objects(plan)]
    things = sorted(group_by_key(wanted).values(), key=_place)
    apply_changes(work, things, work.there())
    wait_for_rollout(
        work, [f"Deployment/{build_object_name(work.address, order.name)}" for order in orders]
    )
    return tuple(_build_live_function(work, order) for order in orders)


# What others stand on comes first: a pod that finds no archive waits for it.
_ORDER = ("ConfigMap", "Secret", "Service", "CronJob", "Deployment", AUTOSCALER)


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
        image=order.artifact.image.pushed if order.artifact.image else "",
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
    return LiveFunction(
        function,
        name,
        resource_id,
        artifact_sha256=sha256,
        mark=said.get(MARK, ""),
        image=said.get(IMAGE, ""),
    )


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


_PORT = 80


class FunctionPlan(Struct, frozen=True):
    """The plan of one function."""

    address: DeploymentAddress
    order: FunctionOrder
    own: ClusterSettings
    # The minor version of the cluster, if it matters.
    minor: int = 0


def _build_function_objects(plan: FunctionPlan) -> tuple[KubeObject, ...]:
    """Build the objects in dependency order. The Deployment comes last: it has the mark and lists
    the other objects."""
    order, address = plan.order, plan.address
    runtime = _require_server_runtime(order)
    pod = _build_pod_plan(plan, runtime)
    beside = (
        build_runtime_map(address, runtime),
        *(() if order.artifact.image else build_archive_maps(address, order)),
        *_build_secret(plan),
        *_build_service(plan),
        *build_cron_jobs(pod, order.triggers, plan.minor),
    )
    beside = (*beside, *_build_autoscaler(plan))
    deployment = _build_deployment(plan, pod, tuple(format_key(one) for one in beside))
    return (*beside, deployment)


def _require_server_runtime(order: FunctionOrder) -> ServerRuntime:
    found = find_server_runtime(order.artifact.runtime)
    if found is None:
        raise FabricError(missing_image_problem(order.name, order.artifact.runtime))
    return found


def _build_pod_plan(plan: FunctionPlan, runtime: ServerRuntime) -> PodPlan:
    order, address = plan.order, plan.address
    image = order.artifact.image
    return PodPlan(
        address=address,
        order=order,
        runtime=runtime,
        image=image.pushed if image else plan.own.image or runtime.image,
        own=plan.own.objects,
        said=format_json(_build_server_settings(plan, runtime)),
        archives=() if image else list_archive_names(address, order),
        runtime_map=build_runtime_name(address, runtime),
        secret=build_object_name(address, order.name) if order.env.reveal() else "",
    )


def _build_server_settings(plan: FunctionPlan, runtime: ServerRuntime) -> dict[str, object]:
    """Build the settings for the server in the pod: those of a local call, with routes."""
    order = plan.order
    triggers = [json.loads(text) for text in order.triggers]
    scaling = plan.own.objects.scaling_of(order)
    pods = scaling.max if scaling else order.provisioned_concurrency or 1
    return {
        **build_handler_settings(order, "cluster-orchestrator", runtime.language),
        "schedule": next(
            (one.get("schedule", "") for one in triggers if one.get("type") == "cron"), ""
        ),
        "variables": sorted(name for name, _ in order.env.reveal()),
        "routes": [
            {"method": str(one.get("method") or "ANY").upper(), "path": one.get("path", "/")}
            for one in triggers
            if one.get("type") == "http"
        ],
        **({"unpacked": True} if order.artifact.image else {}),
        "most": ceil(order.reserved_concurrency / pods) if order.reserved_concurrency else 0,
    }


def _build_secret(plan: FunctionPlan) -> Iterator[KubeObject]:
    env = plan.order.env.reveal()
    if env:
        data = {name: base64.b64encode(value.encode()).decode() for name, value in env}
        yield {"apiVersion": "v1", "type": "Opaque", **_build_head(plan, "Secret"), "data": data}


def _build_autoscaler(plan: FunctionPlan) -> Iterator[KubeObject]:
    scaling = plan.own.objects.scaling_of(plan.order)
    if scaling and _is_served(plan.order.triggers):
        yield build_autoscaler(_build_metadata(plan), scaling)


def _build_service(plan: FunctionPlan) -> Iterator[KubeObject]:
    if _is_served(plan.order.triggers):
        port = {"name": "http", "port": _PORT, "targetPort": "http", "protocol": "TCP"}
        chosen = build_function_labels(plan.address, plan.order.name)
        spec = {"type": "ClusterIP", "selector": chosen, "ports": [port]}
        yield {"apiVersion": "v1", **_build_head(plan, "Service"), "spec": spec}


def _build_deployment(plan: FunctionPlan, pod: PodPlan, parts: tuple[str, ...]) -> KubeObject:
    named = _build_head(plan, "Deployment")
    order = plan.order
    annotations = {
        MARK: order.mark,
        ARTIFACT: order.artifact.sha256,
        PARTS: " ".join(parts),
        **({IMAGE: order.artifact.image.pushed} if order.artifact.image else {}),
        **_build_tag_annotations(order),
    }
    metadata = {**_build_metadata(plan), "annotations": annotations}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {
        **_build_replicas(order),
        "revisionHistoryLimit": 2,
        "progressDeadlineSeconds": plan.own.rollout_seconds,
        "selector": {"matchLabels": build_function_labels(plan.address, order.name)},
        "strategy": rolling,
        "template": build_pod_template(pod),
    }
    return {"apiVersion": "apps/v1", **named, "metadata": metadata, "spec": spec}


def _build_replicas(order: FunctionOrder) -> dict[str, object]:
    """Choose the number of replicas, none for a function with schedules only. Without a setting, an
    autoscaler can choose it."""
    if not _is_served(order.triggers):
        return {"replicas": 0}
    return {"replicas": order.provisioned_concurrency} if order.provisioned_concurrency else {}


def _is_served(triggers: tuple[str, ...]) -> bool:
    kinds = {json.loads(text).get("type") for text in triggers}
    return not kinds or "http" in kinds


def _build_head(plan: FunctionPlan, kind: str) -> KubeObject:
    return {"kind": kind, "metadata": _build_metadata(plan)}


def _build_metadata(plan: FunctionPlan) -> dict[str, object]:
    labels = build_function_labels(plan.address, plan.order.name)
    annotations = {MARK: plan.order.mark, **_build_tag_annotations(plan.order)}
    name = build_object_name(plan.address, plan.order.name)
    return {"name": name, "labels": labels, "annotations": annotations}


def _build_tag_annotations(order: FunctionOrder) -> dict[str, str]:
    """Build annotations for tags, because labels restrict their values."""
    return {TAGS: format_json(dict(order.tags))} if order.tags else {}
