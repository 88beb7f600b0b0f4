"""The desired Kubernetes objects of one function. No effects."""

import base64
import json
from collections.abc import Iterator
from math import ceil

from msgspec import Struct

from fabric.model.conventions import conventions_of
from fabric.model.problems import FabricError
from fabric.providers.cluster.archives import (
    archive_maps,
    archive_names,
    runtime_map,
    runtime_name,
)
from fabric.providers.cluster.cron_jobs import cron_jobs
from fabric.providers.cluster.names import (
    ARTIFACT,
    MARK,
    PARTS,
    TAGS,
    function_labels,
    own_name,
)
from fabric.providers.cluster.objects import KubeObject, key_of
from fabric.providers.cluster.pod_files import PodRuntime, pod_runtime
from fabric.providers.cluster.pods import PodPlan, pod_template
from fabric.providers.cluster.settings import ClusterSettings
from fabric.providers.cluster.unfit import no_image
from fabric.providers.contract import DeploymentAddress, FunctionOrder
from fabric.providers.payloads import as_json

_PORT = 80


class FunctionPlan(Struct, frozen=True):
    """The plan of one function. `minor` is the minor version of the cluster, if it matters."""

    address: DeploymentAddress
    order: FunctionOrder
    own: ClusterSettings
    minor: int = 0


def function_objects(plan: FunctionPlan) -> tuple[KubeObject, ...]:
    """Build the objects in dependency order. The Deployment comes last: it has the mark and lists
    the other objects."""
    order, address = plan.order, plan.address
    runtime = _runtime(order)
    pod = _pod(plan, runtime)
    beside = (
        runtime_map(address, runtime),
        *archive_maps(address, order),
        *_secret(plan),
        *_service(plan),
        *cron_jobs(pod, order.triggers, plan.minor),
    )
    deployment = _deployment(plan, pod, tuple(key_of(one) for one in beside))
    return (*beside, deployment)


def _runtime(order: FunctionOrder) -> PodRuntime:
    found = pod_runtime(order.artifact.runtime)
    if found is None:
        raise FabricError(no_image(order.name, order.artifact.runtime))
    return found


def _pod(plan: FunctionPlan, runtime: PodRuntime) -> PodPlan:
    order, address = plan.order, plan.address
    settings = dict(order.settings)
    return PodPlan(
        address,
        order.name,
        runtime,
        image=plan.own.image or runtime.image,
        said=as_json(_said(order, runtime)),
        mark=order.mark,
        archives=archive_names(address, order),
        runtime_map=runtime_name(address, runtime),
        secret=own_name(address, order.name) if order.env.reveal() else "",
        memory=_count(settings.get("memory", "")),
        seconds=_count(settings.get("timeout", "")),
        architecture=settings.get("architecture", ""),
    )


def _said(order: FunctionOrder, runtime: PodRuntime) -> dict[str, object]:
    """Build the settings for the server in the pod: those of a local call, with routes."""
    triggers = [json.loads(text) for text in order.triggers]
    kinds = [str(one.get("type")) for one in triggers]
    calls = conventions_of("cluster-orchestrator").of(runtime.language)
    module, _, name = order.artifact.handler.rpartition(".")
    settings = dict(order.settings)
    pods = order.provisioned_concurrency or 1
    return {
        "module": module,
        "name": name,
        "functionName": order.name,
        "seconds": _count(settings.get("timeout", "")),
        "memory": _count(settings.get("memory", "")),
        "convention": calls.convention(kinds),
        "names": calls.names,
        "methods": calls.methods,
        "kinds": kinds,
        "path": next((one.get("path", "/") for one in triggers if one.get("type") == "http"), "/"),
        "schedule": next(
            (one.get("schedule", "") for one in triggers if one.get("type") == "cron"), ""
        ),
        "variables": sorted(name for name, _ in order.env.reveal()),
        "routes": [
            {"method": str(one.get("method") or "ANY").upper(), "path": one.get("path", "/")}
            for one in triggers
            if one.get("type") == "http"
        ],
        "most": ceil(order.reserved_concurrency / pods) if order.reserved_concurrency else 0,
    }


def _secret(plan: FunctionPlan) -> Iterator[KubeObject]:
    env = plan.order.env.reveal()
    if env:
        data = {name: base64.b64encode(value.encode()).decode() for name, value in env}
        yield {"apiVersion": "v1", "type": "Opaque", **_named(plan, "Secret"), "data": data}


def _service(plan: FunctionPlan) -> Iterator[KubeObject]:
    if is_served(plan.order.triggers):
        port = {"name": "http", "port": _PORT, "targetPort": "http", "protocol": "TCP"}
        chosen = function_labels(plan.address, plan.order.name)
        spec = {"type": "ClusterIP", "selector": chosen, "ports": [port]}
        yield {"apiVersion": "v1", **_named(plan, "Service"), "spec": spec}


def _deployment(plan: FunctionPlan, pod: PodPlan, parts: tuple[str, ...]) -> KubeObject:
    named = _named(plan, "Deployment")
    order = plan.order
    annotations = {
        MARK: order.mark,
        ARTIFACT: order.artifact.sha256,
        PARTS: " ".join(parts),
        **_tags(order),
    }
    metadata = {**_metadata(plan), "annotations": annotations}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {
        **_replicas(order),
        "revisionHistoryLimit": 2,
        "progressDeadlineSeconds": plan.own.rollout_seconds,
        "selector": {"matchLabels": function_labels(plan.address, order.name)},
        "strategy": rolling,
        "template": pod_template(pod),
    }
    return {"apiVersion": "apps/v1", **named, "metadata": metadata, "spec": spec}


def _replicas(order: FunctionOrder) -> dict[str, object]:
    """Choose the number of replicas, none for a function with schedules only. Without a setting, an
    autoscaler can choose it."""
    if not is_served(order.triggers):
        return {"replicas": 0}
    return {"replicas": order.provisioned_concurrency} if order.provisioned_concurrency else {}


def is_served(triggers: tuple[str, ...]) -> bool:
    kinds = {json.loads(text).get("type") for text in triggers}
    return not kinds or "http" in kinds


def _named(plan: FunctionPlan, kind: str) -> KubeObject:
    return {"kind": kind, "metadata": _metadata(plan)}


def _metadata(plan: FunctionPlan) -> dict[str, object]:
    labels = function_labels(plan.address, plan.order.name)
    annotations = {MARK: plan.order.mark, **_tags(plan.order)}
    name = own_name(plan.address, plan.order.name)
    return {"name": name, "labels": labels, "annotations": annotations}


def _tags(order: FunctionOrder) -> dict[str, str]:
    """Build annotations for tags, because labels restrict their values."""
    return {TAGS: as_json(dict(order.tags))} if order.tags else {}


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else 0
