"""A service of its own in a cluster of its own for each test."""

from pathlib import Path

import pytest

from tests.support.cluster_site import ClusterSite
from tests.support.servers.cluster.fixtures import TestedCluster


@pytest.fixture
def site(cluster: TestedCluster, tmp_path: Path) -> ClusterSite:
    return ClusterSite(cluster, tmp_path)
