"""The HTTP routes of a service as one Ingress. No effects.

An Ingress distinguishes paths only. It ignores methods and parameter values, and controllers differ
in CORS preflight support. If that is not enough, all paths route to the gateway.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from fabric.model.calls.cors import encode_cors
from fabric.providers.cluster.client import ClusterSettings
from fabric.providers.cluster.objects import (
    KubeObject,
    build_object_name,
    build_service_labels,
    count_at,
    read_rows_at,
    read_text_at,
)
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.triggers import encode_path

_USUAL = frozenset((80, 443))


class Routed(Protocol):
    """Anything with triggers: a draft or a live function."""

    @property
    def name(self) -> str: ...
    @property
    def triggers(self) -> tuple[str, ...]: ...


class IngressPath(Struct, frozen=True, order=True):
    """A path; with `is_prefix` all paths below it match too."""

    path: str
    is_prefix: bool


def list_ingress_paths(path: str) -> Iterator[IngressPath]:
    """Yield the paths of a route up to its first parameter or escaped character.

    Controllers differ in comparing encoded paths, and some reject them. A trailing slash makes no
    difference.
    """
    whole = path if path.startswith("/") else f"/{path}"
    segments = whole.strip("/").split("/")
    fixed: list[str] = []
    for segment in segments:
        if "{" in segment or not is_plain(segment):
            yield IngressPath("/" + "/".join(fixed), is_prefix=True)
            return
        fixed.append(segment)
    plain = "/" + "/".join(fixed)
    yield IngressPath(plain, is_prefix=False)
    if plain != "/":
        yield IngressPath(f"{plain}/", is_prefix=False)


def is_plain(path: str) -> bool:
    """Return whether a path needs no URL encoding."""
    return encode_path(path) == path


class HttpPath(Struct, frozen=True, order=True):
    """The path of one HTTP trigger, with its CORS settings as JSON text."""

    path: str
    method: str
    function: str
    cors: str = ""


def list_http_paths(functions: Iterable[Routed]) -> Iterator[HttpPath]:
    for one in functions:
        for trigger in map(json.loads, one.triggers):
            if trigger.get("type") == "http":
                method = str(trigger.get("method") or "ANY").upper()
                cors = encode_cors(trigger.get("cors"))
                shown = json.dumps(cors, sort_keys=True) if cors else ""
                yield HttpPath(str(trigger.get("path") or "/"), method, one.name, shown)


def build_ingress(
    address: DeploymentAddress, functions: Sequence[Routed], own: ClusterSettings, gate: str = ""
) -> KubeObject | None:
    """Build the Ingress, or None without a route. `gate` is the Service of the gateway, if there is
    one."""
    services = {
        row: gate or build_object_name(address, one.function)
        for one in list_http_paths(functions)
        for row in list_ingress_paths(one.path)
    }
    if not services:
        return None
    rows = [_build_path_row(path, services[path]) for path in sorted(services)]
    host = {"host": own.hostname} if own.hostname else {}
    chosen = {"ingressClassName": own.ingress_class} if own.ingress_class else {}
    tls = {"tls": [_build_tls(own)]} if own.tls_secret else {}
    annotations = own.objects.ingress.build_annotations()
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": build_object_name(address),
            "labels": {**own.objects.ingress.labels, **build_service_labels(address)},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {**chosen, **tls, "rules": [{**host, "http": {"paths": rows}}]},
    }


def _build_tls(own: ClusterSettings) -> KubeObject:
    hosts: KubeObject = {"hosts": [own.hostname]} if own.hostname else {}
    return {**hosts, "secretName": own.tls_secret}


def _build_path_row(path: IngressPath, service: str) -> KubeObject:
    backend = {"service": {"name": service, "port": {"number": 80}}}
    kind = "Prefix" if path.is_prefix else "Exact"
    return {"path": path.path, "pathType": kind, "backend": backend}


def _format_port(row: KubeObject) -> str:
    """Return the port if the controller reports a non-standard one."""
    ports = [count_at(one, "port") for one in read_rows_at(row, "ports")]
    return "" if not ports or _USUAL.intersection(ports) else f":{ports[0]}"


def read_endpoint(there: KubeObject | None, own: ClusterSettings) -> str:
    """Return the URL of the service, empty while the Ingress has no address."""
    scheme = "https" if own.tls_secret else "http"
    if own.hostname:
        return f"{scheme}://{own.hostname}"
    for row in read_rows_at(there, "status", "loadBalancer", "ingress"):
        host = read_text_at(row, "hostname") or read_text_at(row, "ip")
        if host:
            return f"{scheme}://{f'[{host}]' if ':' in host else host}{_format_port(row)}"
    return ""
