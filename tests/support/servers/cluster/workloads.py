"""What controllers make of Deployments and CronJobs, worked out each time somebody looks."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.model.hashing import hash_bytes
from tests.support.servers.cluster.pod_processes import Look, PodProcess, PortOf, container_of


@dataclass
class Pod:
    name: str
    template: Mapping[str, Any]
    digest: str
    process: PodProcess

    def document(self) -> dict[str, Any]:
        one = self.process
        state: dict[str, Any] = {"running": {}}
        if one.reason:
            state = {"waiting": {"reason": one.reason, "message": one.message}}
        container = container_of(self.template["spec"])
        status = {
            "name": container["name"],
            "ready": one.was_ready,
            "restartCount": one.restarts,
            "state": state,
        }
        phase = "Running" if one.child else "Pending"
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, **self.template["metadata"]},
            "status": {"phase": phase, "containerStatuses": [status]},
        }


@dataclass
class Workloads:
    """`pods` are those of each Deployment, by its name."""

    folder: Path
    look: Look
    port_of: PortOf
    pods: dict[str, list[Pod]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def look_after(self, deployments: Mapping[str, dict[str, Any]]) -> None:
        for name in self.pods.keys() - deployments.keys():
            self._end(self.pods.pop(name))
        for name, one in deployments.items():
            self._roll(name, one)
            one["status"] = self._status(name, one)

    def _roll(self, name: str, deployment: Mapping[str, Any]) -> None:
        """A new set beside the old one, which ends when all of the new one is ready."""
        template = deployment["spec"]["template"]
        digest = hash_bytes(repr(_sorted(template)).encode())
        have = self.pods.setdefault(name, [])
        wanted = deployment["spec"].get("replicas", 1)
        new = [one for one in have if one.digest == digest]
        for _ in range(wanted - len(new)):
            pod = self._started(name, template, digest)
            have.append(pod)
            new.append(pod)
        for one in have:
            one.process.look_after()
        if all(one.process.was_ready for one in new[:wanted]):
            old = [one for one in have if one not in new[:wanted]]
            self._end(old)
            self.pods[name] = [one for one in have if one not in old]

    def _started(self, name: str, template: Mapping[str, Any], digest: str) -> Pod:
        pod_name = f"{name[:40]}-{digest[:8]}-{next(self._numbers)}"
        folder = self.folder / pod_name
        folder.mkdir(parents=True)
        process = PodProcess(folder, template["spec"], self.look, self.port_of)
        process.start()
        return Pod(pod_name, template, digest, process)

    def _status(self, name: str, deployment: Mapping[str, Any]) -> dict[str, Any]:
        digest = hash_bytes(repr(_sorted(deployment["spec"]["template"])).encode())
        have = self.pods[name]
        return {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": len(have),
            "updatedReplicas": sum(one.digest == digest for one in have),
            "availableReplicas": sum(one.process.was_ready for one in have),
        }

    def run_once(self, template: Mapping[str, Any]) -> tuple[int, str]:
        """As a Job does it: the code and the log."""
        pod = self._started("job", template, "0" * 8)
        try:
            if pod.process.child is None:
                return -1, f"{pod.process.reason}: {pod.process.message}"
            return pod.process.child.wait(30), pod.process.log
        finally:
            self._end([pod])

    def every(self) -> list[Pod]:
        return [pod for pods in self.pods.values() for pod in pods]

    def _end(self, pods: list[Pod]) -> None:
        for one in pods:
            one.process.stop()

    def close(self) -> None:
        self._end(self.every())
        self.pods.clear()


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [(name, _sorted(value[name])) for name in sorted(value)]
    return [_sorted(one) for one in value] if isinstance(value, list) else value
