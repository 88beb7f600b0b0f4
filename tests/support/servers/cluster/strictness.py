"""What a cluster refuses of an object before it takes it: a few of its many rules."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_KEY = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_FIELD = re.compile(r"[\dA-Z*,/-]+")
_LONGEST = {"CronJob": 52, "Service": 63}
_MIB = 1 << 20
_KINDS = {
    "ConfigMap": "v1",
    "Secret": "v1",
    "Service": "v1",
    "Deployment": "apps/v1",
    "CronJob": "batch/v1",
    "Ingress": "networking.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
}


def refusals(thing: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    kind, meta = thing["kind"], thing["metadata"]
    if _KINDS.get(kind) != thing["apiVersion"]:
        yield f'no matches for kind "{kind}" in version "{thing["apiVersion"]}"'
        return
    name = meta["name"]
    shape = _LABEL if kind == "Service" else _NAME
    if not shape.fullmatch(name) or len(name) > _LONGEST.get(kind, 253):
        yield f'metadata.name: Invalid value: "{name}"'
    yield from _labels(meta.get("labels", {}), "metadata.labels")
    for key in meta.get("annotations", {}):
        if not _KEY.fullmatch(key):
            yield f'metadata.annotations: Invalid value: "{key}"'
    yield from _RULES[kind](thing, there)


def _labels(labels: Mapping[str, str], at: str) -> Iterator[str]:
    for key, value in labels.items():
        if not _KEY.fullmatch(key) or not _VALUE.fullmatch(value) or len(value) > 63:
            yield f'{at}: Invalid value: "{key}={value}"'


def _config_map(thing: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    texts = [one.encode() for one in thing.get("data", {}).values()]
    parts = [base64.b64decode(one) for one in thing.get("binaryData", {}).values()]
    if sum(map(len, [*texts, *parts])) > _MIB:
        yield f"[]: Too long: must have at most {_MIB} bytes"
    for part in ("data", "binaryData"):
        for key in thing.get(part, {}):
            if not _DATA_KEY.fullmatch(key):
                yield f'{part}[{key}]: Invalid value: "{key}"'
        if there and there.get("immutable") and there.get(part, {}) != thing.get(part, {}):
            yield f"{part}: Forbidden: field is immutable when `immutable` is set"


def _secret(thing: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    if sum(len(base64.b64decode(one)) for one in thing.get("data", {}).values()) > _MIB:
        yield f"data: Too long: must have at most {_MIB} bytes"


def _service(thing: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    yield from _ports(thing["spec"]["ports"])
    yield from _labels(thing["spec"]["selector"], "spec.selector")


def _ports(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row.get("protocol") not in ("TCP", "UDP", "SCTP"):
            yield 'spec.ports: associative list omits key field "protocol"'


def _deployment(thing: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    spec = thing["spec"]
    chosen, labels = spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]
    if not chosen.items() <= labels.items():
        yield "spec.template.metadata.labels: Invalid value: `selector` does not match"
    if there and there["spec"]["selector"] != spec["selector"]:
        yield "spec.selector: Invalid value: field is immutable"
    yield from _pod(spec["template"]["spec"], "Always")


def _pod(spec: Mapping[str, Any], policy: str) -> Iterator[str]:
    volumes = {one["name"] for one in spec.get("volumes", [])}
    if spec.get("restartPolicy", "Always") not in (policy, "OnFailure")[: 1 + (policy == "Never")]:
        yield f'spec.template.spec.restartPolicy: Unsupported value: "{spec.get("restartPolicy")}"'
    for one in spec["containers"]:
        yield from _ports(one.get("ports", []))
        for mount in one.get("volumeMounts", []):
            if mount["name"] not in volumes:
                yield f'volumeMounts.name: Not found: "{mount["name"]}"'
        for row in one.get("env", []):
            value: object = row.get("value", row.get("valueFrom"))
            if not _VARIABLE.fullmatch(row["name"]) or not isinstance(value, str | Mapping):
                yield f'env.name: Invalid value: "{row["name"]}"'
        for kind in ("readinessProbe", "livenessProbe", "startupProbe"):
            yield from _probe(kind, one[kind]) if kind in one else ()
        yield from _resources(one.get("resources", {}))


def _cron_job(thing: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    fields = thing["spec"]["schedule"].split()
    if len(fields) != 5 or not all(map(_FIELD.fullmatch, fields)):
        yield f'spec.schedule: Invalid value: "{thing["spec"]["schedule"]}"'
    yield from _pod(thing["spec"]["jobTemplate"]["spec"]["template"]["spec"], "Never")


def _ingress(thing: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    for rule in thing["spec"]["rules"]:
        if "host" in rule and not _NAME.fullmatch(rule["host"]):
            yield f'spec.rules.host: Invalid value: "{rule["host"]}"'
        for row in rule["http"]["paths"]:
            if row["pathType"] not in ("Exact", "Prefix") or not row["path"].startswith("/"):
                yield f'spec.rules.http.paths.path: Invalid value: "{row["path"]}"'


def _autoscaler(thing: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    spec = thing["spec"]
    if not 1 <= spec.get("minReplicas", 1) <= spec["maxReplicas"]:
        yield f"spec.maxReplicas: Invalid value: {spec['maxReplicas']}"
    if set(spec["scaleTargetRef"]) != {"apiVersion", "kind", "name"}:
        yield "spec.scaleTargetRef: Required value"
    for row in spec["metrics"]:
        if set(row) != {"type", "resource"} or row["resource"]["target"]["type"] != "Utilization":
            yield "spec.metrics: Invalid value"


def _probe(kind: str, probe: Mapping[str, Any]) -> Iterator[str]:
    for name, value in probe.items():
        if name != "httpGet" and (not isinstance(value, int) or value < 1):
            yield f"{kind}.{name}: Invalid value: {value}"
    if not probe["httpGet"]["path"].startswith("/"):
        yield f"{kind}.httpGet.path: Invalid value"


_QUANTITY = re.compile(r"\d+(\.\d+)?(m|[kMGTPE]|[KMGTPE]i)?")


def _resources(rows: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    for kind, found in rows.items():
        for name, text in found.items():
            if not isinstance(text, str) or not _QUANTITY.fullmatch(text):
                yield f"resources.{kind}[{name}]: Invalid value: {text!r}"


_RULES = {
    "ConfigMap": _config_map,
    "Secret": _secret,
    "Service": _service,
    "Deployment": _deployment,
    "CronJob": _cron_job,
    "Ingress": _ingress,
    "HorizontalPodAutoscaler": _autoscaler,
}
