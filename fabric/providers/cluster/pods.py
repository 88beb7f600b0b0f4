"""The pod that serves a function or calls it once. No effects."""

from msgspec import Struct

from fabric.model.builds.image_names import CODE_FOLDER
from fabric.providers.cluster.archives import format_file_key, format_part_key
from fabric.providers.cluster.object_settings import ObjectSettings
from fabric.providers.cluster.objects import (
    MARK,
    KubeObject,
    build_function_labels,
)
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.serving import (
    READY_PATH,
    SERVER_FOLDER,
    SERVER_PORT,
    ServerRuntime,
)
from fabric.providers.core.sources import read_memory, read_timeout

_CONTAINER = "function"
_CODE, _WORK, _TMP = "/fabric/code", "/fabric/work", "/tmp"  # noqa: S108 - the container's own
_USER = 1000
# Beside the call itself: to be sent no more requests, and to write the last answer.
END_SECONDS = 10
_ARCHITECTURES = {"": "", "x64": "amd64", "x86_64": "amd64", "amd64": "amd64"}


POD_SECURITY: KubeObject = {
    "runAsNonRoot": True,
    "runAsUser": _USER,
    "runAsGroup": _USER,
    "fsGroup": _USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER_SECURITY: KubeObject = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
READINESS: KubeObject = {
    "httpGet": {"path": READY_PATH, "port": "http"},
    "periodSeconds": 2,
    "timeoutSeconds": 2,
}
# What a Service needs of a container.
SERVING: KubeObject = {
    "ports": [{"name": "http", "containerPort": SERVER_PORT, "protocol": "TCP"}],
    "readinessProbe": READINESS,
}


class PodPlan(Struct, frozen=True, kw_only=True):
    """The plan of a pod."""

    address: DeploymentAddress
    order: FunctionOrder
    runtime: ServerRuntime
    image: str
    # The settings of the server inside.
    said: str
    # Empty if the image contains the code.
    archives: tuple[str, ...]
    runtime_map: str
    secret: str = ""
    own: ObjectSettings = ObjectSettings()

    @property
    def code(self) -> str:
        return _CODE if self.archives else f"/{CODE_FOLDER}"


def build_pod_template(plan: PodPlan) -> KubeObject:
    """Build the pod template of a Deployment."""
    probes = plan.own.build_probes(READINESS)
    container = {**_build_container(plan, {}), **SERVING, **probes}
    grace = {"terminationGracePeriodSeconds": (read_timeout(plan.order) or 30) + END_SECONDS}
    return _build_template(
        plan,
        build_function_labels(plan.address, plan.order.name),
        {**_build_spec(plan, container), **grace},
    )


def build_job_template(plan: PodPlan, event: str) -> KubeObject:
    """Build the pod template of a Job. It has no function label, so that no Service selects its
    pods."""
    spec = {
        **_build_spec(plan, _build_container(plan, {"FABRIC_EVENT": event})),
        "restartPolicy": "Never",
    }
    return _build_template(plan, {}, spec)


def _build_template(plan: PodPlan, labels: dict[str, str], spec: KubeObject) -> KubeObject:
    metadata: KubeObject = {"annotations": {MARK: plan.order.mark}}
    if labels:
        metadata["labels"] = labels
    return {"metadata": metadata, "spec": spec}


def _build_spec(plan: PodPlan, container: KubeObject) -> KubeObject:
    architecture = dict(plan.order.settings).get("architecture", "")
    wanted = _ARCHITECTURES.get(architecture, architecture)
    secrets = [{"name": one} for one in plan.own.image_pull_secrets]
    nodes = {"nodeSelector": {"kubernetes.io/arch": wanted}} if wanted else {}
    return {
        **nodes,
        **({"imagePullSecrets": secrets} if secrets else {}),
        "automountServiceAccountToken": bool(plan.own.service_account),
        **({"serviceAccountName": plan.own.service_account} if plan.own.service_account else {}),
        "enableServiceLinks": False,
        "securityContext": POD_SECURITY,
        "containers": [container],
        "volumes": _build_volumes(plan),
    }


def _build_container(plan: PodPlan, more: dict[str, str]) -> KubeObject:
    own = {
        "FABRIC_SAID": plan.said,
        "FABRIC_CODE": plan.code,
        "FABRIC_WORK": _WORK,
        "HOME": _WORK,
        **more,
    }
    # The last one counts.
    sources = plan.own.build_variable_sources()
    sources += [{"secretRef": {"name": plan.secret}}] if plan.secret else []
    variables = [{"name": name, "value": text} for name, text in own.items()]
    return {
        "name": _CONTAINER,
        "image": plan.image,
        "command": list(plan.runtime.start),
        "env": [*variables, *plan.own.build_variables()],
        **({"envFrom": sources} if sources else {}),
        **_build_resources(plan),
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": [
            {"name": "runtime", "mountPath": SERVER_FOLDER, "readOnly": True},
            *([{"name": "code", "mountPath": _CODE, "readOnly": True}] if plan.archives else ()),
            {"name": "work", "mountPath": _WORK},
            {"name": "tmp", "mountPath": _TMP},
        ],
    }


def _build_resources(plan: PodPlan) -> KubeObject:
    megabytes = read_memory(plan.order)
    return plan.own.build_resources({"memory": f"{megabytes}Mi"} if megabytes else {})


def _build_volumes(plan: PodPlan) -> list[KubeObject]:
    files = [
        {"key": format_file_key(number), "path": path}
        for number, (path, _) in enumerate(plan.runtime.files)
    ]
    parts = [
        {
            "configMap": {
                "name": name,
                "items": [{"key": format_part_key(at), "path": format_part_key(at)}],
            }
        }
        for at, name in enumerate(plan.archives)
    ]
    return [
        {"name": "runtime", "configMap": {"name": plan.runtime_map, "items": files}},
        *([{"name": "code", "projected": {"sources": parts}}] if parts else ()),
        {"name": "work", "emptyDir": {}},
        {"name": "tmp", "emptyDir": {}},
    ]
