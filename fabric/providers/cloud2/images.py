"""Functions that are images: each is a Cloud Run service, with fabric's server in its image."""

from collections.abc import Iterator

from fabric.model.builds.image_names import CODE_FOLDER
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.client import RUN, Cloud2Call, build_cloud2_call
from fabric.providers.cloud2.revisions import (
    EGRESS,
    INGRESS_SETTING,
    Cloud2Plan,
    build_labels,
    build_variables,
    choose_instances,
)
from fabric.providers.cloud2.source import list_bucket_filters
from fabric.providers.cloud2.work import Cloud2Settings, Cloud2Work
from fabric.providers.core.contract import FunctionDraft, FunctionOrder
from fabric.providers.core.limits import function_problem
from fabric.providers.core.payloads import format_json
from fabric.providers.core.serving import (
    READY_PATH,
    SERVER_PORT,
    ServerRuntime,
    find_server_runtime,
)
from fabric.providers.core.sources import build_server_settings, read_memory, read_timeout

_WRITTEN = "description,labels,template"
_INGRESS = {
    "": "INGRESS_TRAFFIC_ALL",
    "all": "INGRESS_TRAFFIC_ALL",
    "internal": "INGRESS_TRAFFIC_INTERNAL_ONLY",
    "internal-and-load-balancer": "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER",
}
_DEFAULT_MEMORY = 512
# The least CPUs for this many MB of memory.
_CPUS = ((4_096, 1), (8_192, 2), (16_384, 4), (32_768, 8))
# A container has four minutes to start.
_STARTUP_PROBE: JsonObject = {
    "httpGet": {"path": READY_PATH, "port": SERVER_PORT},
    "periodSeconds": 2,
    "timeoutSeconds": 2,
    "failureThreshold": 120,
}


def find_image_problems(one: FunctionDraft) -> Iterator[Problem]:
    runtime = dict(one.settings).get("runtime", "")
    if find_server_runtime(runtime) is None:
        yield _unsupported_runtime_problem(one.name, runtime)


def _unsupported_runtime_problem(function: str, runtime: str) -> Problem:
    why = f"is an image and has the runtime `{runtime}`, which fabric does not serve from an image"
    hint = "use nodejs18.x to nodejs24.x, python3.11 to python3.14, or provided.al2023"
    return function_problem(function, why, hint)


def require_server(order: FunctionOrder) -> ServerRuntime:
    runtime = find_server_runtime(order.artifact.runtime)
    if runtime is None:
        raise FabricError(_unsupported_runtime_problem(order.name, order.artifact.runtime))
    return runtime


def push_function_image(work: Cloud2Work, plan: Cloud2Plan) -> str:
    """Push the image of a function with fabric's server, and return its address with the digest."""
    from fabric.providers.core.images import build_push_with_server, push_and_report

    image = plan.order.artifact.image
    if image is None or work.open_registries is None:
        raise TypeError(f"{plan.order.name} has no image to push")
    if image.pushed:
        return image.pushed
    target = f"{work.own.registry}/{plan.name}"
    push = build_push_with_server(target, plan.order, require_server(plan.order))
    return push_and_report(work.open_registries(), push, plan.order.name, work.watch)


def build_service_call(
    work: Cloud2Work, plan: Cloud2Plan, image: str, *, is_new: bool
) -> Cloud2Call:
    """Build the call that creates a revision. A new revision of an existing service receives no
    traffic yet."""
    ingress = _INGRESS[work.own.ingress]
    has_ingress = bool(work.own.ingress) or INGRESS_SETTING in plan.settings_before
    document: JsonObject = {
        "description": plan.owner.describe(),
        "labels": build_labels(plan),
        "template": _build_template(work, plan, image),
        **({"ingress": ingress} if has_ingress else {}),
    }
    if is_new:
        path = f"/v2/{work.place.path}/services?serviceId={plan.name}"
        return build_cloud2_call(RUN, "POST", path, document)
    mask = f"{_WRITTEN},ingress" if has_ingress else _WRITTEN
    path = f"/v2/{work.place.service(plan.name)}?updateMask={mask}"
    return build_cloud2_call(RUN, "PATCH", path, document)


def _build_template(work: Cloud2Work, plan: Cloud2Plan, image: str) -> JsonObject:
    own, order = work.own, plan.order
    least, most = choose_instances(own, order)
    scaling = {"minInstanceCount": least, "maxInstanceCount": most}
    return {
        "containers": [_build_container(work, plan, image)],
        "maxInstanceRequestConcurrency": max(own.concurrency, 1),
        "scaling": {name: count for name, count in scaling.items() if count},
        **({"timeout": f"{read_timeout(order)}s"} if read_timeout(order) else {}),
        **({"serviceAccount": own.service_account} if own.service_account else {}),
        **_build_network(own),
    }


def _build_network(own: Cloud2Settings) -> JsonObject:
    if not own.vpc_connector:
        return {}
    egress = {"egress": EGRESS[own.vpc_egress]} if own.vpc_egress else {}
    return {"vpcAccess": {"connector": own.vpc_connector, **egress}}


def _build_container(work: Cloud2Work, plan: Cloud2Plan, image: str) -> JsonObject:
    own, order = work.own, plan.order
    runtime = require_server(order)
    memory = read_memory(order) or _DEFAULT_MEMORY
    cpu = own.cpu or next(count for most, count in _CPUS if memory <= most)
    code = f"/{CODE_FOLDER}"
    variables = {
        **build_variables(plan),
        "FABRIC_SAID": format_json(_build_server_settings(work, plan, runtime)),
        "FABRIC_CODE": code,
        "FABRIC_WORK": "/tmp/fabric",  # noqa: S108 - the container's own
    }
    return {
        "image": image,
        "command": list(runtime.start),
        "workingDir": code,
        "ports": [{"containerPort": SERVER_PORT}],
        "env": [
            *({"name": name, "value": text} for name, text in sorted(variables.items())),
            *_list_secret_variables(own),
        ],
        "resources": {
            "limits": {"cpu": f"{cpu:g}", "memory": f"{memory}Mi"},
            "cpuIdle": True,
        },
        "startupProbe": _STARTUP_PROBE,
    }


def _build_server_settings(
    work: Cloud2Work, plan: Cloud2Plan, runtime: ServerRuntime
) -> JsonObject:
    order = plan.order
    said = build_server_settings(order, "cloud2-functions", runtime.language, work.place.region)
    buckets = list_bucket_filters(order.triggers)
    return {
        **said,
        "unpacked": True,
        "events": True,
        "drain": 0,
        **({"buckets": buckets} if buckets else {}),
    }


def _list_secret_variables(own: Cloud2Settings) -> Iterator[JsonObject]:
    for name, one in sorted(own.secrets.items()):
        secret = f"projects/{one.project}/secrets/{one.secret}" if one.project else one.secret
        reference = {"secret": secret, "version": one.version}
        yield {"name": name, "valueSource": {"secretKeyRef": reference}}
