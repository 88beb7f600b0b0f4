"""A cluster for tests: one of their own in this process, there at once; or a real one, in which
each test has a namespace of its own, where FABRIC_TEST_CLUSTER names the folder of its programs."""

import contextlib
import itertools
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabric.providers.cluster.objects import KubeObject
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.cluster.control_plane import ControlPlane, control_plane
from tests.support.servers.cluster.door import ToolAnswer, ToolDoor, tool_door
from tests.support.servers.cluster.double import CONTEXT, NAMESPACE, ClusterDouble
from tests.support.servers.cluster.front import front_of, service_of

REAL = "FABRIC_TEST_CLUSTER"
_KINDS = "deployments,services,configmaps,secrets,cronjobs,ingresses,horizontalpodautoscalers"
_OURS = "app.kubernetes.io/managed-by=fabric"
_numbers = itertools.count()


@dataclass(frozen=True)
class TestedCluster:
    """`names` are all objects of ours as `Kind/name`, `remove` takes one away by hand, and `edit`
    sets fields of one as another manager."""

    __test__ = False

    door: ToolDoor
    config: Path
    namespace: str
    names: Callable[[], list[str]]
    remove: Callable[[str], None]
    edit: Callable[[str, KubeObject], None]
    own_double: ClusterDouble | None = None

    @property
    def double(self) -> ClusterDouble:
        """A look behind the tool, which a real cluster does not give."""
        if self.own_double is None:
            pytest.skip("a real cluster cannot be arranged like that")
        return self.own_double

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.door.folder / 'bin'}:{ENVIRONMENT['PATH']}",
            "HOME": str(self.door.folder),
            "CLUSTER_CONFIG": str(self.config),
            "CLUSTER_CONTEXT": CONTEXT,
            "CLUSTER_NAMESPACE": self.namespace,
        }

    def left(self) -> list[str]:
        return sorted(self.names())


@contextlib.contextmanager
def cluster_in_this_process(folder: Path) -> Iterator[TestedCluster]:
    with contextlib.ExitStack() as stack:
        double = ClusterDouble(folder / "pods")
        stack.callback(double.close)
        double.front = stack.enter_context(front_of(double.port_for))
        door = stack.enter_context(tool_door(folder, double.run))
        config = folder / "config"
        config.write_text("{}")
        yield TestedCluster(
            *(door, config, NAMESPACE, lambda: [*double.objects], double.objects.__delitem__),
            double.edit,
            own_double=double,
        )


@contextlib.contextmanager
def _in_real(plane: ControlPlane, folder: Path) -> Iterator[TestedCluster]:
    namespace = f"test-{next(_numbers)}"

    def run(argv: Sequence[str], stdin: bytes = b"") -> ToolAnswer:
        done = subprocess.run(
            [plane.tool, *argv], input=stdin, capture_output=True, check=False, timeout=100
        )
        return ToolAnswer(done.returncode, done.stdout.decode(), done.stderr.decode())

    def own(*words: str) -> str:
        answer = run(["--kubeconfig", str(plane.config), "--namespace", namespace, *words])
        assert answer.code == 0, answer.err
        return answer.out

    def names() -> list[str]:
        template = "{range .items[*]}{.kind}/{.metadata.name} {end}"
        return own("get", _KINDS, "-l", _OURS, "-o", f"jsonpath={template}").split()

    def port_for(host: str, path: str) -> int:
        return _port_in(plane, namespace, host, path)

    def remove(name: str) -> None:
        own("delete", name)

    def edit(manager: str, thing: KubeObject) -> None:
        words = ("apply", "--server-side", "--force-conflicts", f"--field-manager={manager}")
        options = ("--kubeconfig", str(plane.config), "--namespace", namespace)
        answer = run([*options, *words, "--validate=false", "-f", "-"], json.dumps(thing).encode())
        assert answer.code == 0, answer.err

    own("create", "namespace", namespace)
    with front_of(port_for) as front, tool_door(folder, run) as door:
        plane.node.fronts[namespace] = front
        yield TestedCluster(door, plane.config, namespace, names, remove, edit)
        del plane.node.fronts[namespace]
        own("delete", "namespace", namespace, "--wait=false")


def _port_in(plane: ControlPlane, namespace: str, host: str, path: str) -> int:
    top = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses"
    service = service_of(plane.api.call("GET", top)["items"], host, path)
    if not service:
        return 0
    return plane.node.pod_port(namespace, service)


@pytest.fixture(scope="session")
def real_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane | None]:
    programs = ENVIRONMENT.get(REAL, "")
    if not programs:
        yield None
        return
    with control_plane(Path(programs), tmp_path_factory.mktemp("plane")) as plane:
        yield plane


@pytest.fixture
def cluster(real_plane: ControlPlane | None) -> Iterator[TestedCluster]:
    # A socket's path has to be a short one.
    with tempfile.TemporaryDirectory(prefix="fabric-cluster-") as name:
        folder = Path(name)
        made = _in_real(real_plane, folder) if real_plane else cluster_in_this_process(folder)
        with made as found:
            yield found
