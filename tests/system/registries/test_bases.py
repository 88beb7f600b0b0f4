"""Base images: tags as digests for a while, platforms, and what happens offline."""

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fabric.model.problems import ExitCode, FabricError, exit_code_of
from fabric.system.registries.bases import TIME_TO_LIVE, BaseQuery, Bases, ResolvedBase
from fabric.system.registries.push import Registries
from tests.support.images import NOW
from tests.support.servers.docker_registry import QUICK, DockerRegistry
from tests.support.servers.registry_proxy import Fault, RegistryProxy

pytestmark = pytest.mark.network
_LATER = TIME_TO_LIVE + datetime.timedelta(seconds=1)


@dataclass
class Runs:
    """Runs of one user, each with an own process."""

    folder: Path | None
    now: datetime.datetime = NOW
    opened: list[Registries] = field(default_factory=list)

    def bases(self) -> Bases:
        self.opened.append(Registries(lambda _: None, patience=QUICK))
        return Bases(self.folder, self.opened[-1], lambda: self.now)

    def close(self) -> None:
        for one in self.opened:
            one.close()

    def resolve(self, name: str, architecture: str = "") -> ResolvedBase:
        return self.bases().resolve(BaseQuery(name, architecture))


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    found = Runs(tmp_path)
    yield found
    found.close()


def _down(proxy: RegistryProxy) -> None:
    proxy.faults.append(Fault("GET", "", status=503, times=999))


def test_a_tag_is_resolved_again_only_after_its_time(
    runs: Runs, registry: DockerRegistry, proxy: RegistryProxy
) -> None:
    name = registry.push_base("ttl", text="one").replace(registry.name, proxy.name)
    first = runs.resolve(name)
    registry.push_base("ttl", text="two")
    assert runs.resolve(name) == first
    assert proxy.count("GET", "/manifests/") == 1
    runs.now += _LATER
    assert runs.resolve(name).digest != first.digest


def test_a_digest_needs_the_registry_once(
    runs: Runs, registry: DockerRegistry, proxy: RegistryProxy
) -> None:
    name = registry.push_base("pinned", text="one").replace(registry.name, proxy.name)
    pinned = f"{name}@{runs.resolve(name).digest}"
    runs.bases().read(BaseQuery(pinned))
    _down(proxy)
    runs.now += _LATER
    assert runs.resolve(pinned).problem is None
    assert runs.bases().read(BaseQuery(pinned)).reference == runs.resolve(pinned).reference


def test_offline_the_last_digest_is_used_with_a_warning(
    runs: Runs, registry: DockerRegistry, proxy: RegistryProxy
) -> None:
    name = registry.push_base("offline").replace(registry.name, proxy.name)
    first = runs.resolve(name)
    _down(proxy)
    runs.now += _LATER
    again = runs.resolve(name)
    assert again.digest == first.digest
    assert again.problem is not None
    assert again.problem.code == "image/offline"
    assert "2026-01-01 12:00 UTC" in again.problem.message


def test_offline_an_unknown_base_is_an_error(runs: Runs) -> None:
    with pytest.raises(FabricError) as raised:
        runs.resolve("127.0.0.1:1/base:1")
    assert exit_code_of(raised.value.first) is ExitCode.UNREACHABLE


def test_a_missing_tag_is_an_error_even_if_an_older_digest_is_known(
    runs: Runs, registry: DockerRegistry, proxy: RegistryProxy
) -> None:
    name = registry.push_base("moved").replace(registry.name, proxy.name)
    runs.resolve(name)
    runs.now += _LATER
    proxy.faults.append(Fault("GET", "/manifests/", status=404, times=9))
    with pytest.raises(FabricError, match="image not found"):
        runs.resolve(name)


def test_all_names_of_an_architecture_are_known() -> None:
    names = ("", "x64", "amd64", "x86_64", "arm64", "aarch64")
    found = [BaseQuery("b", name).platform for name in names]
    assert found == ["amd64"] * 4 + ["arm64"] * 2


@pytest.mark.parametrize(
    ("architecture", "found"), [("", "amd64"), ("x86_64", "amd64"), ("arm64", "arm64")]
)
def test_the_variant_for_the_platform_of_the_function_is_used(
    runs: Runs, registry: DockerRegistry, architecture: str, found: str
) -> None:
    name = registry.push_base("both", architectures=("amd64", "arm64"))
    base = runs.bases().read(BaseQuery(name, architecture))
    assert json.loads(base.config)["architecture"] == found


def test_a_base_without_the_platform_is_an_error(runs: Runs, registry: DockerRegistry) -> None:
    index = registry.push_base("other", architectures=("amd64", "s390x"))
    single = registry.push_base("single")
    for name in (index, single):
        with pytest.raises(FabricError, match="no variant for linux/arm64") as raised:
            runs.bases().read(BaseQuery(name, "arm64"))
        assert raised.value.first.code == "image/no-platform"


def test_stored_documents_are_compared_with_their_digests(
    runs: Runs, registry: DockerRegistry, tmp_path: Path
) -> None:
    name = registry.push_base("planted")
    base = runs.bases().read(BaseQuery(name))
    for path in (tmp_path / "documents").iterdir():
        path.write_bytes(b"{}")
    assert runs.bases().read(BaseQuery(name)) == base


def test_without_a_directory_nothing_is_stored(runs: Runs, registry: DockerRegistry) -> None:
    runs.folder = None
    bases = runs.bases()
    query = BaseQuery(registry.push_base("memory"))
    assert bases.read(query) == bases.read(query)


def test_another_process_that_wrote_nonsense_is_ignored(
    runs: Runs, registry: DockerRegistry, tmp_path: Path
) -> None:
    name = registry.push_base("nonsense")
    first = runs.resolve(name)
    for path in (tmp_path / "tags").iterdir():
        path.write_bytes(b"{")
    assert runs.resolve(name) == first


def test_an_outage_is_waited_for_once_in_a_run(
    runs: Runs, registry: DockerRegistry, proxy: RegistryProxy
) -> None:
    name = registry.push_base("outage").replace(registry.name, proxy.name)
    _down(proxy)
    bases = runs.bases()
    for _ in range(3):
        with pytest.raises(FabricError, match="cannot be reached"):
            bases.resolve(BaseQuery(name))
    assert len(proxy.calls) == QUICK.tries
