"""A real control plane for tests: etcd, an API server and the controllers that deployments need."""

import contextlib
import json
import secrets
import shutil
import subprocess
import urllib.error
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers.cluster.api import ClusterApi
from tests.support.servers.cluster.node import ClusterNode
from tests.support.servers.process import Command, free_port, running

_CONTROLLERS = (
    "deployment,replicaset,endpoint,cronjob,job,garbagecollector,namespace,podgc,serviceaccount"
)


@dataclass(frozen=True)
class ControlPlane:
    api: ClusterApi
    node: ClusterNode
    config: Path
    tool: str


@contextlib.contextmanager
def control_plane(binaries: Path, folder: Path) -> Iterator[ControlPlane]:
    tool, token = shutil.which("kubectl"), secrets.token_hex(16)
    assert tool, "kubectl is not on PATH"
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(_etcd(folder))
        api = stack.enter_context(_api_server(binaries, folder, store, token))
        config = _kubeconfig(folder, api)
        stack.enter_context(_controllers(binaries, folder, config))
        node = ClusterNode(api, folder / "node", free_port())
        stack.callback(node.stop)
        node.start()
        yield ControlPlane(api, node, config, tool)


@contextlib.contextmanager
def _etcd(folder: Path) -> Iterator[str]:
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    own = _own(folder, "etcd")
    options = {
        "data-dir": str(own / "data"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
    }
    argv = ["etcd", "--unsafe-no-fsync", *_options(options)]
    with running(Command(argv, own), lambda: _answers(ClusterApi(client, ""), "/health")):
        yield client


@contextlib.contextmanager
def _api_server(binaries: Path, folder: Path, store: str, token: str) -> Iterator[ClusterApi]:
    own, port = _own(folder, "api"), free_port()
    key, public = own / "key.pem", own / "public.pem"
    _openssl("genrsa", "-out", str(key), "2048")
    _openssl("rsa", "-in", str(key), "-pubout", "-out", str(public))
    (own / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    options = {
        "etcd-servers": store,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": str(port),
        "cert-dir": str(own / "certificates"),
        "service-account-key-file": str(public),
        "service-account-signing-key-file": str(key),
        "service-account-issuer": "https://here",
        "service-cluster-ip-range": "10.0.0.0/16",
        "token-auth-file": str(own / "tokens.csv"),
        "authorization-mode": "RBAC",
        "disable-admission-plugins": "ServiceAccount",
        "kubelet-preferred-address-types": "InternalIP",
    }
    api = ClusterApi(f"https://127.0.0.1:{port}", token)
    argv = [str(binaries / "kube-apiserver"), *_options(options)]
    with running(Command(argv, own), lambda: _answers(api, "/readyz?verbose=false")):
        yield api


@contextlib.contextmanager
def _controllers(binaries: Path, folder: Path, config: Path) -> Iterator[None]:
    own = _own(folder, "controllers")
    options = {
        "kubeconfig": str(config),
        "service-account-private-key-file": str(folder / "api" / "key.pem"),
        "leader-elect": "false",
        "controllers": _CONTROLLERS,
        "bind-address": "127.0.0.1",
        "secure-port": str(free_port()),
        "port": "0",
    }
    argv = [str(binaries / "kube-controller-manager"), *_options(options)]
    with running(Command(argv, own), lambda: True):
        yield


def _kubeconfig(folder: Path, api: ClusterApi) -> Path:
    """JSON is YAML, too."""
    cluster = {"server": api.server, "insecure-skip-tls-verify": True}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": api.token}}],
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    config = folder / "config"
    config.write_text(json.dumps(document))
    config.chmod(0o600)
    return config


def _answers(api: ClusterApi, path: str) -> bool:
    try:
        api.call("GET", path)
    except ValueError:  # it says `ok`, which is no JSON
        return True
    except (urllib.error.URLError, OSError):
        return False
    return True


def _options(given: dict[str, str]) -> list[str]:
    return [f"--{name}={text}" for name, text in given.items()]


def _openssl(*words: str) -> None:
    subprocess.run(("openssl", *words), check=True, capture_output=True)


def _own(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made
