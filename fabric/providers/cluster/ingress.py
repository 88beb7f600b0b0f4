"""The http routes of a service as one Ingress. No effects.

An Ingress tells paths apart, and neither methods nor what a parameter stands for: the pods do that.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from fabric.providers.cluster.names import own_name, service_labels
from fabric.providers.cluster.objects import KubeObject, count_at, rows_at, text_at
from fabric.providers.cluster.settings import ClusterSettings
from fabric.providers.contract import DeploymentAddress

_USUAL = frozenset((80, 443))


class Routed(Protocol):
    """What has triggers: a draft as well as a live function."""

    @property
    def name(self) -> str: ...
    @property
    def triggers(self) -> tuple[str, ...]: ...


class IngressPath(Struct, frozen=True, order=True):
    """With `is_prefix`, and all below it."""

    path: str
    is_prefix: bool


def path_of(path: str) -> IngressPath:
    """Up to the first parameter."""
    whole = path if path.startswith("/") else f"/{path}"
    segments = whole.strip("/").split("/")
    fixed: list[str] = []
    for segment in segments:
        if "{" in segment:
            return IngressPath("/" + "/".join(fixed), is_prefix=True)
        fixed.append(segment)
    return IngressPath(whole.rstrip("/") or "/", is_prefix=False)


def paths_of(functions: Iterable[Routed]) -> Iterator[tuple[IngressPath, str, int]]:
    """Each with its function, and the number of its trigger there."""
    for one in functions:
        for number, text in enumerate(one.triggers):
            trigger = json.loads(text)
            if trigger.get("type") == "http":
                yield path_of(str(trigger.get("path") or "/")), one.name, number


def ingress(
    address: DeploymentAddress, functions: Sequence[Routed], own: ClusterSettings
) -> KubeObject | None:
    """None without a route."""
    owners = {path: name for path, name, _ in paths_of(functions)}
    if not owners:
        return None
    rows = [_row(address, path, owners[path]) for path in sorted(owners)]
    host = {"host": own.hostname} if own.hostname else {}
    chosen = {"ingressClassName": own.ingress_class} if own.ingress_class else {}
    tls = {"tls": [_tls(own)]} if own.tls_secret else {}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": own_name(address), "labels": service_labels(address)},
        "spec": {**chosen, **tls, "rules": [{**host, "http": {"paths": rows}}]},
    }


def _tls(own: ClusterSettings) -> KubeObject:
    hosts: KubeObject = {"hosts": [own.hostname]} if own.hostname else {}
    return {**hosts, "secretName": own.tls_secret}


def _row(address: DeploymentAddress, path: IngressPath, function: str) -> KubeObject:
    service = {"name": own_name(address, function), "port": {"number": 80}}
    kind = "Prefix" if path.is_prefix else "Exact"
    return {"path": path.path, "pathType": kind, "backend": {"service": service}}


def _port(row: KubeObject) -> str:
    """Where a controller says that it listens at another one than all do."""
    ports = [count_at(one, "port") for one in rows_at(row, "ports")]
    return "" if not ports or _USUAL.intersection(ports) else f":{ports[0]}"


def endpoint_of(there: KubeObject | None, own: ClusterSettings) -> str:
    """Where users meet the service; empty where nobody has given the Ingress an address yet."""
    scheme = "https" if own.tls_secret else "http"
    if own.hostname:
        return f"{scheme}://{own.hostname}"
    for row in rows_at(there, "status", "loadBalancer", "ingress"):
        host = text_at(row, "hostname") or text_at(row, "ip")
        if host:
            return f"{scheme}://{f'[{host}]' if ':' in host else host}{_port(row)}"
    return ""
