"""A cluster in this process that `kubectl` asks: objects with their managers, and pods that run."""

import argparse
import copy
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.servers.cluster.door import ToolAnswer
from tests.support.servers.cluster.field_owners import ConflictError, Owners, applied
from tests.support.servers.cluster.front import service_of
from tests.support.servers.cluster.service_ports import ServicePorts
from tests.support.servers.cluster.strictness import refusals
from tests.support.servers.cluster.workloads import Workloads

CONTEXT, NAMESPACE = "test", "shop"
_PLURALS = {
    "deployments": "Deployment",
    "services": "Service",
    "configmaps": "ConfigMap",
    "secrets": "Secret",
    "cronjobs": "CronJob",
    "ingresses": "Ingress",
    "horizontalpodautoscalers": "HorizontalPodAutoscaler",
    "pods": "Pod",
}
_OWN_DEFAULTS = {"Service": {"spec": {"clusterIP": "10.0.0.1"}}}
Object = dict[str, Any]


class RefusedError(Exception):
    """What the tool writes to its stderr."""


@dataclass
class ClusterDouble:
    folder: Path
    minor: int = 30
    front: int = 0
    objects: dict[str, Object] = field(default_factory=dict)
    owners: dict[str, Owners] = field(default_factory=dict)
    guard: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.services = ServicePorts(self.pod_port)
        self.workloads = Workloads(self.folder, self.look, self.services.port)

    def look(self, kind: str, name: str) -> Object | None:
        return self.objects.get(f"{kind}/{name}")

    def run(self, argv: Sequence[str], stdin: bytes) -> ToolAnswer:
        try:
            with self.guard:
                return ToolAnswer(0, self._answered(argv, stdin))
        except RefusedError as error:
            return ToolAnswer(1, err=f"{error}\n")

    def _answered(self, argv: Sequence[str], stdin: bytes) -> str:
        asked = _parser().parse_args(argv)
        if not Path(asked.kubeconfig).is_file():
            raise RefusedError(f"error: stat {asked.kubeconfig}: no such file or directory")
        if asked.context != CONTEXT:
            raise RefusedError(f'error: context "{asked.context}" does not exist')
        if asked.verb in ("apply", "get", "delete") and asked.namespace != NAMESPACE:
            if asked.verb == "apply":
                said = f'Error from server (NotFound): namespaces "{asked.namespace}" not found'
                raise RefusedError(said)
            return ""
        answers: dict[str, Callable[[argparse.Namespace], str]] = {
            "get": self._get,
            "apply": lambda given: self._apply(given, stdin),
            "delete": self._delete,
            "logs": self._logs,
            "version": lambda _: json.dumps(
                {"serverVersion": {"major": "1", "minor": f"{self.minor}+"}}
            ),
            "auth": lambda _: "yes\n",
        }
        return answers[asked.verb](asked)

    def _get(self, asked: argparse.Namespace) -> str:
        self.look_after()
        if asked.selector or "/" not in asked.names[0]:
            kinds = [_PLURALS[one] for one in asked.names[0].split(",")]
            every = [*self.objects.values(), *(one.document() for one in self.workloads.every())]
            found = [
                one for one in every if one["kind"] in kinds and _is_chosen(one, asked.selector)
            ]
            return json.dumps({"kind": "List", "apiVersion": "v1", "items": found})
        rows = [self.objects[one] for one in asked.names if one in self.objects]
        if len(asked.names) == 1:
            return json.dumps(rows[0]) if rows else ""
        return json.dumps({"kind": "List", "apiVersion": "v1", "items": rows}) if rows else ""

    def look_after(self) -> None:
        deployments = {
            one["metadata"]["name"]: one
            for one in self.objects.values()
            if one["kind"] == "Deployment"
        }
        self.workloads.look_after(deployments)

    def _apply(self, asked: argparse.Namespace, stdin: bytes) -> str:
        assert asked.server_side, "nothing is applied by the client alone"
        wrong: list[str] = []
        for thing in json.loads(stdin)["items"]:
            try:
                self._apply_one(thing, asked)
            except RefusedError as error:
                wrong.append(str(error))
        if wrong:
            raise RefusedError("\n".join(wrong))
        return ""

    def _apply_one(self, thing: Object, asked: argparse.Namespace) -> None:
        kind, name = thing["kind"], thing["metadata"]["name"]
        key = f"{kind}/{name}"
        there = self.objects.get(key)
        found = list(refusals(thing, there))
        if found:
            said = f'The {kind} "{name}" is invalid: {"; ".join(found)}'
            raise RefusedError(said)
        try:
            new, owners = applied(
                there or {}, thing, self.owners.get(key, {}), asked.manager, force=asked.force
            )
        except ConflictError as error:
            raise RefusedError(_conflict(error)) from error
        self._set(key, there, new)
        self.owners[key] = owners

    def _set(self, key: str, there: Object | None, new: Object) -> None:
        kind = new["kind"]
        spec = {**_OWN_DEFAULTS.get(kind, {}).get("spec", {}), **new.get("spec", {})}
        if kind == "Deployment":
            spec.setdefault("replicas", 1)
        if spec:
            new["spec"] = spec
        generation = there["metadata"]["generation"] if there else 1
        if there and there.get("spec") != new.get("spec"):
            generation += 1
        new["metadata"]["generation"] = generation
        if kind == "Ingress" and self.front:
            row = {"ip": "127.0.0.1", "ports": [{"port": self.front, "protocol": "TCP"}]}
            new["status"] = {"loadBalancer": {"ingress": [row]}}
        self.objects[key] = new

    def _delete(self, asked: argparse.Namespace) -> str:
        for name in asked.names:
            if self.objects.pop(name, None) is None and not asked.ignore_not_found:
                raise RefusedError(f'Error from server (NotFound): "{name}" not found')
            self.owners.pop(name, None)
        self.look_after()
        return ""

    def _logs(self, asked: argparse.Namespace) -> str:
        for pod in self.workloads.every():
            if pod.name == asked.names[0]:
                if asked.timestamps:
                    return pod.process.stamped_log(asked.since_time)
                return "\n".join(pod.process.log.splitlines()[-int(asked.tail) :])
        raise RefusedError(f'Error from server (NotFound): pods "{asked.names[0]}" not found')

    def edit(self, manager: str, change: Mapping[str, Any]) -> None:
        """Somebody else sets fields by force."""
        key = f"{change['kind']}/{change['metadata']['name']}"
        there = copy.deepcopy(self.objects[key])
        new, self.owners[key] = applied(there, dict(change), self.owners[key], manager, force=True)
        self._set(key, there, new)

    def port_for(self, host: str, path: str) -> int:
        """That of a pod that a request is for; 0 where there is none."""
        with self.guard:
            ingresses = [one for one in self.objects.values() if one["kind"] == "Ingress"]
            service = service_of(ingresses, host, path)
        return self.pod_port(service)

    def pod_port(self, service: str) -> int:
        """That of a pod that is ready; 0 where there is none."""
        with self.guard:
            found = self.look("Service", service)
            if found is None:
                return 0
            chosen = found["spec"]["selector"].items()
            for pod in reversed(self.workloads.every()):
                labels = pod.template["metadata"].get("labels", {})
                if pod.process.was_ready and chosen <= labels.items():
                    return pod.process.port
        return 0

    def close(self) -> None:
        self.workloads.close()
        self.services.close()


def _conflict(error: ConflictError) -> str:
    count = len(error.held)
    if count == 1:
        ((manager, name),) = error.held
        what = f'1 conflict: conflict with "{manager}" using apps/v1: {name}'
    else:
        rows = {manager: [n for m, n in error.held if m == manager] for manager, _ in error.held}
        lines = [
            f'conflicts with "{manager}" using apps/v1:\n' + "\n".join(f"- {one}" for one in names)
            for manager, names in rows.items()
        ]
        what = f"{count} conflicts: " + "\n".join(lines)
    more = "Please review the fields above--they currently have other managers."
    return f"error: Apply failed with {what}\n{more}"


def _is_chosen(thing: Object, selector: str) -> bool:
    labels = thing["metadata"].get("labels", {})
    pairs = (one.partition("=") for one in selector.split(",") if one)
    return all(
        labels.get(name) == value if equals else name in labels for name, equals, value in pairs
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(exit_on_error=False)
    for name in ("--kubeconfig", "--context", "--namespace", "--request-timeout"):
        parser.add_argument(name, required=True)
    parser.add_argument("verb")
    parser.add_argument("names", nargs="*")
    parser.add_argument("-l", dest="selector", default="")
    parser.add_argument("-o", dest="output", default="")
    parser.add_argument("-f", dest="file", default="")
    parser.add_argument("-c", dest="container", default="")
    parser.add_argument("--field-manager", dest="manager", default="")
    parser.add_argument("--force-conflicts", dest="force", action="store_true")
    parser.add_argument("--server-side", action="store_true")
    parser.add_argument("--ignore-not-found", action="store_true")
    parser.add_argument("--wait", default="true")
    parser.add_argument("--previous", action="store_true")
    parser.add_argument("--tail", default="-1")
    parser.add_argument("--timestamps", action="store_true")
    parser.add_argument("--all-containers", action="store_true")
    parser.add_argument("--since-time", default="")
    return parser
