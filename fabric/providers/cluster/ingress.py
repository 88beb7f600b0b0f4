"""The http routes of a service as one Ingress. No effects.

An Ingress tells paths apart, and neither methods nor what a parameter stands for, and it leaves
questions of browsers about pages of other origins to others. Where that is not enough, all of its
paths lead to the gate of the service.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from fabric.model.cors import cors_row
from fabric.providers.cluster.names import own_name, service_labels
from fabric.providers.cluster.objects import KubeObject, count_at, rows_at, text_at
from fabric.providers.cluster.settings import ClusterSettings
from fabric.providers.contract import DeploymentAddress
from fabric.providers.naming import as_sent

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


def paths_of(path: str) -> Iterator[IngressPath]:
    """Up to the first parameter, or to what is sent with escapes: some controllers compare paths
    as they were sent, some as they are meant, and some take no such path. A slash at the end makes
    no other route."""
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
    """Whether it is sent as it is written."""
    return as_sent(path) == path


class HttpPath(Struct, frozen=True, order=True):
    """The path of one http trigger, with the JSON text of what pages of other origins may do."""

    path: str
    method: str
    function: str
    cors: str = ""


def http_paths(functions: Iterable[Routed]) -> Iterator[HttpPath]:
    for one in functions:
        for trigger in map(json.loads, one.triggers):
            if trigger.get("type") == "http":
                method = str(trigger.get("method") or "ANY").upper()
                cors = cors_row(trigger.get("cors"))
                shown = json.dumps(cors, sort_keys=True) if cors else ""
                yield HttpPath(str(trigger.get("path") or "/"), method, one.name, shown)


def ingress(
    address: DeploymentAddress, functions: Sequence[Routed], own: ClusterSettings, gate: str = ""
) -> KubeObject | None:
    """None without a route; `gate` is the Service that all of them lead to, where there is one."""
    services = {
        row: gate or own_name(address, one.function)
        for one in http_paths(functions)
        for row in paths_of(one.path)
    }
    if not services:
        return None
    rows = [_row(path, services[path]) for path in sorted(services)]
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


def _row(path: IngressPath, service: str) -> KubeObject:
    backend = {"service": {"name": service, "port": {"number": 80}}}
    kind = "Prefix" if path.is_prefix else "Exact"
    return {"path": path.path, "pathType": kind, "backend": backend}


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
