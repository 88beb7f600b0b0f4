"""Optional settings of the objects: autoscaling, probes, resources, and references to existing
objects. No effects."""

import json
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from fabric.model.hashing import hash_bytes
from fabric.model.problems import Problem
from fabric.providers.cluster.objects import KubeObject
from fabric.providers.core.contract import FunctionDraft, FunctionOrder, Unsupported
from fabric.providers.core.limits import function_problem, unsupported_setting
from fabric.providers.core.serving import READY_PATH, SERVER_VARIABLES
from fabric.providers.core.triggers import parse_routes

_EXTENSION = ("extensions", "cluster-orchestrator")
# On an Ingress, a hash of the settings below: removed ones are found by it.
INGRESS_SETTINGS = "fabric/settings"
_OWN_KEYS = ("fabric/", "app.kubernetes.io/")
AUTOSCALER = "HorizontalPodAutoscaler"


class Autoscaling(Struct, frozen=True):
    """Limits of the number of pods, and the CPU usage to keep, in percent of the request."""

    max: int
    min: int = 1
    cpu: int = 80


class Probe(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A probe. Without a path, the server around the handler answers."""

    path: str = ""
    initial_delay_seconds: int = 0
    period_seconds: int = 0
    timeout_seconds: int = 0
    failure_threshold: int = 0

    def build(self, standard: KubeObject) -> KubeObject:
        numbers = {
            "initialDelaySeconds": self.initial_delay_seconds,
            "periodSeconds": self.period_seconds,
            "timeoutSeconds": self.timeout_seconds,
            "failureThreshold": self.failure_threshold,
        }
        call = {"httpGet": {"path": self.path or READY_PATH, "port": "http"}}
        return {**standard, **call, **{name: one for name, one in numbers.items() if one}}


class VariableSource(Struct, frozen=True, rename="camel"):
    """A key of an existing Secret or ConfigMap."""

    key: str
    secret: str = ""
    config_map: str = ""

    def build(self) -> KubeObject:
        kind = "secretKeyRef" if self.secret else "configMapKeyRef"
        return {kind: {"name": self.secret or self.config_map, "key": self.key}}


class IngressSettings(Struct, frozen=True):
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def build_annotations(self) -> dict[str, str]:
        """Build the annotations, with a hash of all settings. Empty without settings."""
        if not self.annotations and not self.labels:
            return {}
        text = json.dumps([self.annotations, self.labels], sort_keys=True)
        return {**self.annotations, INGRESS_SETTINGS: hash_bytes(text.encode())[:16]}


class ObjectSettings(Struct, frozen=True, rename="camel", kw_only=True):
    """Settings of pods and of the Ingress, in the provider's config section."""

    # The Secrets that nodes pull images with.
    image_pull_secrets: tuple[str, ...] = ()
    service_account: str = ""
    # Existing objects of which each key is a variable.
    secrets: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()
    variables: dict[str, VariableSource] = field(default_factory=dict)
    # By `readiness`, `liveness` and `startup`.
    probes: dict[str, Probe] = field(default_factory=dict)
    # By `requests` and `limits`.
    resources: dict[str, dict[str, str | float]] = field(default_factory=dict)
    autoscaling: Autoscaling | None = None
    ingress: IngressSettings = IngressSettings()

    def scaling_of(self, order: FunctionOrder) -> Autoscaling | None:
        """Return the autoscaling of a function. Provisioned concurrency is a fixed number."""
        return None if order.provisioned_concurrency else self.autoscaling

    def build_resources(self, memory: KubeObject) -> KubeObject:
        """Build requests and limits, with the memory of the function."""
        found = {
            kind: {**memory, **{name: _format_quantity(one) for name, one in texts.items()}}
            for kind, texts in self.resources.items()
        }
        both = {"requests": memory, "limits": memory} if memory else {}
        return {"resources": {**both, **found}} if both or found else {}

    def build_variables(self) -> list[KubeObject]:
        pairs = sorted(self.variables.items())
        return [{"name": name, "valueFrom": one.build()} for name, one in pairs]

    def build_variable_sources(self) -> list[KubeObject]:
        maps: list[KubeObject] = [{"configMapRef": {"name": name}} for name in self.config_maps]
        return maps + [{"secretRef": {"name": name}} for name in self.secrets]

    def build_probes(self, readiness: KubeObject) -> KubeObject:
        standard = {"readiness": readiness}
        return {
            f"{kind}Probe": probe.build(standard.get(kind, {}))
            for kind, probe in sorted(self.probes.items())
        }


def _format_quantity(value: str | float) -> str:
    """Format a quantity as the cluster does, which otherwise seems to have another one."""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if value == int(value) else f"{value * 1000:.0f}m"


def build_autoscaler(metadata: Mapping[str, object], scaling: Autoscaling) -> KubeObject:
    target = {"type": "Utilization", "averageUtilization": scaling.cpu}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": AUTOSCALER,
        "metadata": metadata,
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": metadata["name"],
            },
            "minReplicas": scaling.min,
            "maxReplicas": scaling.max,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }


def find_object_setting_problems(
    own: ObjectSettings, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    yield from _find_scaling_problems(own)
    yield from _find_variable_problems(own)
    for name in sorted(own.ingress.annotations.keys() | own.ingress.labels.keys()):
        if name.startswith(_OWN_KEYS):
            why = f"set with `{name}`, which fabric sets itself"
            yield unsupported_setting(_EXTENSION, "ingress", why, "use another key")
    for one in functions:
        yield from (Unsupported(one.name, problem) for problem in _find_conflicts(own, one))


def _find_scaling_problems(own: ObjectSettings) -> Iterator[Unsupported]:
    scaling = own.autoscaling
    if scaling is not None and "cpu" not in own.resources.get("requests", {}):
        why = "set without `resources.requests.cpu`, of which its `cpu` is a percentage"
        yield unsupported_setting(_EXTENSION, "autoscaling", why, "set the CPU request of a pod")
    if scaling is not None and scaling.min > scaling.max:
        why = f"set with `min: {scaling.min}`, which is more than `max: {scaling.max}`"
        yield unsupported_setting(_EXTENSION, "autoscaling", why, "use a lower `min`")


def _find_variable_problems(own: ObjectSettings) -> Iterator[Unsupported]:
    for name in sorted(SERVER_VARIABLES.intersection(own.variables)):
        why = f"set for `{name}`, which fabric sets in the container"
        yield unsupported_setting(_EXTENSION, "variables", why, "rename the variable")
    for name, source in sorted(own.variables.items()):
        if bool(source.secret) == bool(source.config_map):
            why = f"set for `{name}` without exactly one of `secret` and `configMap`"
            yield unsupported_setting(_EXTENSION, "variables", why, "name one of them")


def _find_conflicts(own: ObjectSettings, one: FunctionDraft) -> Iterator[Problem]:
    for name in sorted(own.variables.keys() & {*one.variables}):
        why = f"sets `{name}`, which `{'.'.join(_EXTENSION)}.variables` sets too"
        yield function_problem(one.name, why, "remove one of them")
    paths = {
        route.path
        for route in parse_routes(one.name, one.triggers)
        if route.method in ("GET", "ANY")
    }
    is_served = not one.triggers or any('"http"' in text for text in one.triggers)
    for kind, probe in sorted(own.probes.items()):
        if is_served and probe.path and probe.path not in paths:
            why = f"has no GET route for `{probe.path}`, the path of the {kind} probe"
            hint = "add the route, or remove the path: fabric's server then answers the probe"
            yield function_problem(one.name, why, hint)
