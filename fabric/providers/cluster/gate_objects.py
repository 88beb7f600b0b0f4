"""The gateway of a service, for routes that an Ingress cannot express. No effects.

It is fabric's server on a public image. Its routes are in a ConfigMap named by their hash, so new
routes create new pods. The old pods serve until the new ones are ready.
"""

import functools
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.providers.cluster.archives import format_file_key
from fabric.providers.cluster.client import ClusterSettings
from fabric.providers.cluster.objects import (
    MARK,
    KubeObject,
    build_gate_labels,
    build_object_name,
    count_at,
    read_rows_at,
    read_text_at,
)
from fabric.providers.cluster.pods import (
    CONTAINER_SECURITY,
    END_SECONDS,
    POD_SECURITY,
    SERVING,
)
from fabric.providers.cluster.routes import HttpPath, Routed, is_plain, list_http_paths
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.payloads import format_json

_FOLDER = "/fabric/gate"
_PORT = 80
_DIGEST = 12
# A function without a timeout of its own may take its time when its gate ends.
_USUAL_SECONDS = 30
_MEMORY = "64Mi"
_SHARED = ("serving_routes.mjs", "serving_cors.mjs")
_OWN = Path(__file__).with_name("gate")
_RUNTIME = Path(__file__).parents[2] / "runtimes" / "nodejs"


def build_gate_objects(
    address: DeploymentAddress,
    functions: Sequence[Routed],
    own: ClusterSettings,
    there: Mapping[str, KubeObject],
) -> tuple[KubeObject, ...]:
    """Build the objects, none if an Ingress is enough; the Deployment comes last. Timeouts of
    functions are read from `there`."""
    if not has_gate_need(functions):
        return ()
    names = {one.name for one in functions}
    seconds = {
        name: _read_timeout(there.get(f"Deployment/{build_object_name(address, name)}"))
        for name in names
    }
    files = (*_list_code_files(), ("routes.json", _build_routes(address, functions, seconds)))
    digest = hash_fields(part for pair in files for part in pair)
    config: KubeObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{build_object_name(address)}-gate-{digest[:_DIGEST]}",
            "labels": build_gate_labels(address),
        },
        "immutable": True,
        "data": {format_file_key(number): text for number, (_, text) in enumerate(files)},
    }
    volume: KubeObject = {
        "name": read_text_at(config, "metadata", "name"),
        "items": [
            {"key": format_file_key(number), "path": name} for number, (name, _) in enumerate(files)
        ],
    }
    longest = max([_USUAL_SECONDS, *seconds.values()])
    pod = {**_build_pod(own, volume), "terminationGracePeriodSeconds": longest + END_SECONDS}
    # All that its pods are made of: those of another mark are not waited for.
    mark = hash_fields((digest, format_json(pod)))[:32]
    return (config, _build_service(address, mark), _build_deployment(address, own, mark, pod))


@functools.cache
def _list_code_files() -> tuple[tuple[str, str], ...]:
    """List the server files, with the same route table as function pods."""
    paths = (_OWN / "gate.mjs", *(_RUNTIME / name for name in _SHARED))
    return tuple((one.name, one.read_text()) for one in paths)


def _build_routes(
    address: DeploymentAddress, functions: Sequence[Routed], seconds: Mapping[str, int]
) -> str:
    rows = [
        {
            "method": one.method,
            "path": one.path,
            "url": f"http://{build_object_name(address, one.function)}:{_PORT}",
            "seconds": seconds[one.function],
            **({"cors": json.loads(one.cors)} if one.cors else {}),
        }
        for one in sorted(list_http_paths(functions))
    ]
    return format_json({"routes": rows})


def _read_timeout(deployment: KubeObject | None) -> int:
    """Return the timeout that the pods' server uses; 0 means no limit."""
    for container in read_rows_at(deployment, "spec", "template", "spec", "containers"):
        for row in read_rows_at(container, "env"):
            if read_text_at(row, "name") == "FABRIC_SAID":
                return count_at(json.loads(read_text_at(row, "value") or "{}"), "seconds")
    return 0


def _build_metadata(address: DeploymentAddress, mark: str) -> KubeObject:
    named: KubeObject = {"name": build_object_name(address), "labels": build_gate_labels(address)}
    return {**named, "annotations": {MARK: mark}}


def _build_service(address: DeploymentAddress, mark: str) -> KubeObject:
    port = {"name": "http", "port": _PORT, "targetPort": "http", "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _build_metadata(address, mark),
        "spec": {"type": "ClusterIP", "selector": build_gate_labels(address), "ports": [port]},
    }


def _build_deployment(
    address: DeploymentAddress, own: ClusterSettings, mark: str, pod: KubeObject
) -> KubeObject:
    labels = build_gate_labels(address)
    template = {"metadata": {"labels": labels, "annotations": {MARK: mark}}, "spec": pod}
    spec = {
        **({"replicas": own.gate_pods} if own.gate_pods else {}),
        "revisionHistoryLimit": 2,
        "progressDeadlineSeconds": own.rollout_seconds,
        "selector": {"matchLabels": labels},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
        },
        "template": template,
    }
    metadata = _build_metadata(address, mark)
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _build_pod(own: ClusterSettings, volume: KubeObject) -> KubeObject:
    container = {
        "name": "gate",
        "image": own.gate_image,
        "command": ["node", f"{_FOLDER}/gate.mjs"],
        **SERVING,
        "resources": {"requests": {"memory": _MEMORY}},
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": [{"name": "gate", "mountPath": _FOLDER, "readOnly": True}],
    }
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": POD_SECURITY,
        "containers": [container],
        "volumes": [{"name": "gate", "configMap": volume}],
    }


# Whether an Ingress alone can route each request to its function. No effects.
# It matches exact paths and prefixes, not methods or parameters.


_Segments = tuple[str, ...]


class _Reach(Struct, frozen=True):
    """The paths that one Ingress row matches: one exact path, or all paths below the segments
    before the first parameter."""

    function: str
    template: _Segments
    fixed: _Segments

    @property
    def is_prefix(self) -> bool:
        return self.template != self.fixed


def has_gate_need(functions: Sequence[Routed]) -> bool:
    """Return whether a gateway is needed.

    Reasons: a request matches two rows of different functions, a route needs CORS preflights, or a
    path has escapes.
    """
    prefixes, exact = defaultdict[_Segments, list[_Reach]](list), dict[_Segments, str]()
    paths = tuple(list_http_paths(functions))
    if any(one.cors or not is_plain(one.path) for one in paths):
        return True
    rows = [_reach(one) for one in paths]
    for one in rows:
        if one.is_prefix:
            prefixes[one.fixed].append(one)
        elif exact.setdefault(one.fixed, one.function) != one.function:
            return True
    return any(
        other.function != one.function and _is_overlap(one, other)
        for one in rows
        for above in _list_prefixes(one.fixed)
        for other in prefixes.get(above, ())
    )


def _reach(route: HttpPath) -> _Reach:
    segments = tuple(one for one in route.path.strip("/").split("/") if one)
    first = next((at for at, one in enumerate(segments) if "{" in one), len(segments))
    return _Reach(route.function, segments, segments[:first])


def _list_prefixes(segments: _Segments) -> Iterator[_Segments]:
    return (segments[:length] for length in range(len(segments) + 1))


def _is_overlap(one: _Reach, other: _Reach) -> bool:
    """Return whether requests can match both rows; `other` matches all paths below a prefix of
    `one`.

    An exact row wins, but a method that it lacks belongs to a fitting template of the other row.
    """
    return one.is_prefix or _is_template_match(other.template, one.fixed)


def _is_template_match(template: _Segments, path: _Segments) -> bool:
    for at, one in enumerate(template):
        if one.endswith("+}"):
            return len(path) > at
        if at >= len(path) or ("{" not in one and one != path[at]):
            return False
    return len(template) == len(path)
