"""A node of a real cluster that has no containers: its pods are processes of this machine."""

import http.server
import ssl
import subprocess
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.servers.cluster.api import MERGE, ClusterApi
from tests.support.servers.cluster.pod_processes import PodProcess, container_of
from tests.support.servers.cluster.service_ports import ServicePorts

_NAME = "here"
_PATHS = {"ConfigMap": "configmaps", "Secret": "secrets"}
_PAUSE = 0.1


def _nothing() -> dict[str, "NodePod"]:
    return {}


@dataclass
class NodePod:
    document: dict[str, Any]
    process: PodProcess
    told: Any = None

    @property
    def path(self) -> str:
        meta = self.document["metadata"]
        return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"

    @property
    def is_over(self) -> bool:
        child = self.process.child
        runs_once = self.document["spec"].get("restartPolicy") == "Never"
        return runs_once and child is not None and child.poll() is not None


@dataclass
class ClusterNode:
    """`pods` by their uid. All is done in one thread, a look after the other."""

    api: ClusterApi
    folder: Path
    port: int
    pods: dict[str, NodePod] = field(default_factory=_nothing)
    fronts: dict[str, int] = field(default_factory=dict)
    services: dict[str, ServicePorts] = field(default_factory=dict)
    guard: threading.RLock = field(default_factory=threading.RLock)
    ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self._serve_logs()
        self._register()
        threading.Thread(target=self._live, daemon=True).start()

    def stop(self) -> None:
        self.ended.set()
        with self.guard:
            for one in self.pods.values():
                one.process.stop()
            self.pods.clear()
        for ports in self.services.values():
            ports.close()

    def _register(self) -> None:
        labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        meta = {"name": _NAME, "labels": labels}
        self.api.quietly(
            "POST", "/api/v1/nodes", {"kind": "Node", "apiVersion": "v1", "metadata": meta}
        )
        room = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
        status = {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
        }
        self.api.call("PATCH", f"/api/v1/nodes/{_NAME}/status", {"status": status}, MERGE)

    def _live(self) -> None:
        while not self.ended.is_set():
            try:
                with self.guard:
                    self._look()
            except Exception:  # noqa: BLE001 - a node goes on, whatever it met
                traceback.print_exc()
            time.sleep(_PAUSE)

    def _look(self) -> None:
        listed = {
            one["metadata"]["uid"]: one for one in self.api.call("GET", "/api/v1/pods")["items"]
        }
        for uid in self.pods.keys() - listed.keys():
            self.pods.pop(uid).process.stop()
        for uid, pod in listed.items():
            if pod["metadata"].get("deletionTimestamp"):
                self._end(uid, pod)
            elif not pod["spec"].get("nodeName"):
                self._bind(pod)
            elif uid not in self.pods and pod.get("status", {}).get("phase") in (None, "Pending"):
                self.pods[uid] = self._started(uid, pod)
        for one in self.pods.values():
            self._look_after(one)
        for space, port in list(self.fronts.items()):
            self._give_addresses(space, port)

    def _bind(self, pod: dict[str, Any]) -> None:
        meta = pod["metadata"]
        target = {"apiVersion": "v1", "kind": "Node", "name": _NAME}
        own = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding"
        self.api.quietly("POST", path, {**own, "target": target})

    def _started(self, uid: str, pod: dict[str, Any]) -> NodePod:
        space = pod["metadata"]["namespace"]
        folder = self.folder / uid
        folder.mkdir(parents=True)

        def look(kind: str, name: str) -> Any:
            return self.api.found(f"/api/v1/namespaces/{space}/{_PATHS[kind]}/{name}")

        def port_of(service: str) -> int:
            if space not in self.services:
                self.services[space] = ServicePorts(lambda name: self.pod_port(space, name))
            return self.services[space].port(service)

        process = PodProcess(folder, pod["spec"], look, port_of)
        process.start()
        return NodePod(pod, process)

    def pod_port(self, space: str, service: str) -> int:
        """That of a pod that is ready; 0 where there is none."""
        found = self.api.found(f"/api/v1/namespaces/{space}/endpoints/{service}") or {}
        ready = [
            one["targetRef"]["uid"]
            for subset in found.get("subsets", [])
            for one in subset.get("addresses", [])
        ]
        with self.guard:
            return next((self.pods[uid].process.port for uid in ready if uid in self.pods), 0)

    def _end(self, uid: str, pod: dict[str, Any]) -> None:
        known = self.pods.pop(uid, None)
        if known:
            known.process.stop()
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        self.api.quietly("DELETE", path, {"gracePeriodSeconds": 0})

    def _look_after(self, pod: NodePod) -> None:
        if not pod.is_over:
            pod.process.look_after()
        status = _status(pod)
        if status != pod.told:
            pod.told = status
            self.api.quietly("PATCH", f"{pod.path}/status", {"status": status}, MERGE)

    def _give_addresses(self, space: str, port: int) -> None:
        """What an Ingress controller writes."""
        top = f"/apis/networking.k8s.io/v1/namespaces/{space}/ingresses"
        for one in self.api.call("GET", top)["items"]:
            if not one.get("status", {}).get("loadBalancer"):
                row = {"ip": "127.0.0.1", "ports": [{"port": port, "protocol": "TCP"}]}
                status = {"loadBalancer": {"ingress": [row]}}
                path = f"{top}/{one['metadata']['name']}/status"
                self.api.quietly("PATCH", path, {"status": status}, MERGE)

    def _serve_logs(self) -> None:
        """`kubectl logs` comes here through the API."""
        node = self

        class Logs(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # noqa: N802 - the server's own name
                url = urlsplit(self.path)
                _, space, name, _ = url.path.strip("/").split("/")
                most = int(parse_qs(url.query).get("tailLines", ["1000"])[0])
                body = node.log(space, name, most).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: object) -> None:
                """Only what went wrong is of interest."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Logs)
        server.daemon_threads = True
        server.socket = _certified(self.folder).wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()

    def log(self, space: str, name: str, most: int) -> str:
        for one in list(self.pods.values()):
            meta = one.document["metadata"]
            if (meta["namespace"], meta["name"]) == (space, name):
                return "\n".join(one.process.log.splitlines()[-most:]) + "\n"
        return ""


def _status(pod: NodePod) -> dict[str, Any]:
    one, spec = pod.process, pod.document["spec"]
    container = container_of(spec)
    phase, is_ready = ("Running" if one.child else "Pending"), one.was_ready
    state: dict[str, Any] = {"running": {}}
    if pod.is_over and one.child is not None:
        code = one.child.returncode
        phase, is_ready = ("Failed" if code else "Succeeded"), False
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
    elif one.reason:
        state, is_ready = {"waiting": {"reason": one.reason, "message": one.message}}, False
    row = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": is_ready,
        "restartCount": one.restarts,
        "state": state,
    }
    kinds = ("Initialized", "PodScheduled", "ContainersReady", "Ready")
    said = {True: "True", False: "False"}
    conditions = [{"type": kind, "status": said[is_ready or kind in kinds[:2]]} for kind in kinds]
    addresses = {"podIP": "10.1.1.1", "hostIP": "127.0.0.1"}
    return {"phase": phase, "containerStatuses": [row], "conditions": conditions, **addresses}


def _certified(folder: Path) -> ssl.SSLContext:
    folder.mkdir(parents=True, exist_ok=True)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = ("-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={_NAME}")
    asked = ("openssl", "req", "-x509", *words, "-keyout", str(key), "-out", str(certificate))
    subprocess.run(asked, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
