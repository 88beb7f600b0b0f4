"""A cluster of its own for each test: it is in this process, and is there at once."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.cluster.double import CONTEXT, NAMESPACE, ClusterDouble
from tests.support.servers.cluster.door import ToolDoor, tool_door
from tests.support.servers.cluster.front import front_of


@dataclass(frozen=True)
class TestedCluster:
    """`double` is what a real cluster has not: a look behind the tool."""

    __test__ = False

    door: ToolDoor
    double: ClusterDouble
    config: Path
    front: int

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.door.folder / 'bin'}:{ENVIRONMENT['PATH']}",
            "CLUSTER_CONFIG": str(self.config),
            "CLUSTER_CONTEXT": CONTEXT,
            "CLUSTER_NAMESPACE": NAMESPACE,
        }

    def left(self) -> list[str]:
        return sorted(self.double.objects)


@contextlib.contextmanager
def tested_cluster() -> Iterator[TestedCluster]:
    # A socket's path has to be a short one.
    with (
        tempfile.TemporaryDirectory(prefix="fabric-cluster-") as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        double = ClusterDouble(folder / "pods")
        stack.callback(double.close)
        double.front = stack.enter_context(front_of(double))
        door = stack.enter_context(tool_door(folder, double.run))
        config = folder / "config"
        config.write_text("{}")
        yield TestedCluster(door, double, config, double.front)


@pytest.fixture
def cluster() -> Iterator[TestedCluster]:
    with tested_cluster() as made:
        yield made
