"""Images by whole commands: what `package` writes, what is rebuilt, and what runs without them."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.model.hashing import hash_bytes
from fabric.model.problems import ExitCode
from tests.support import in_process
from tests.support.project import Project, handler
from tests.support.servers.docker_registry import DockerRegistry
from tests.support.servers.registry_proxy import Fault, RegistryProxy
from tests.support.wheels import ANY, environment, write_wheel

pytestmark = pytest.mark.network


class Shop:
    """A service with two functions from images, and with two packages."""

    def __init__(self, folder: Path, base: str, proxy: RegistryProxy) -> None:
        self.proxy, self.base, self._folder = proxy, base, folder
        config = (
            "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"
            f'defaults: {{package: {{type: image, base: "{base}"}}}}\n'
            "functions:\n  - {name: one, entry: main.handler}\n"
            "  - {name: two, entry: two.handler}\n"
        )
        sources = {"main.py": handler("one"), "two.py": handler("two")}
        self.project: Project = in_process.project(folder / "shop", config, sources)
        self.requires(alpha="1.0", beta="1.0")

    def requires(self, **versions: str) -> None:
        """With hashes, so that each wheel is a task."""
        rows, index = [], self._folder / "index"
        for name, version in versions.items():
            wheel = index / name / f"{name}-{version}-{ANY}.whl"
            if not wheel.exists():  # it would have another time in it
                write_wheel(index, name, version=version)
            digest = hash_bytes(wheel.read_bytes())
            rows.append(f"{name}=={version} --hash=sha256:{digest}\n")
        self.project.write({"requirements.txt": "".join(rows)})

    @property
    def env(self) -> Mapping[str, str]:
        tools = self._folder / "tools"
        tools.mkdir(exist_ok=True, mode=0o700)
        index = {
            k: v for k, v in environment(self._folder / "index").items() if k.startswith("PIP_")
        }
        return {
            **index,
            "FABRIC_PIP": "pip",
            "FABRIC_TOOLCHAIN_DIR": str(tools),
            "HOME": str(self._folder),
        }

    def ran(self, *words: str) -> list[str]:
        """The tasks that a package ran."""
        done = self.project.json("package", *words, env=self.env)
        assert done.code == 0, done.out + done.err
        return [one["function"] for one in done.result["artifacts"] if not one["cached"]]

    def layout(self, function: str = "one") -> Path:
        return self.project.root / f".fabric/build/shop/{function}.oci"

    def blobs(self, function: str = "one") -> set[str]:
        return {one.name for one in (self.layout(function) / "blobs/sha256").iterdir()}

    def planned(self) -> dict[str, str]:
        done = self.project.json("plan", env=self.env)
        assert done.code == 0, done.out + done.err
        return {one["id"]: one["reason"] for one in done.result["tasks"] if one["action"] == "run"}


@pytest.fixture
def shop(registry: DockerRegistry, proxy: RegistryProxy, tmp_path: Path) -> Shop:
    base = registry.push_base(f"cli-{tmp_path.name.lower()}").replace(registry.name, proxy.name)
    return Shop(tmp_path, base, proxy)


@pytest.mark.slow
def test_a_package_is_an_oci_layout_and_an_archive_and_pushes_nothing(shop: Shop) -> None:
    done = shop.project.json("package", env=shop.env)
    paths = [one["path"] for one in done.result["artifacts"]]
    build = ".fabric/build/shop"
    assert paths == [f"{build}/one.oci", f"{build}/two.oci", f"{build}/one.zip", f"{build}/two.zip"]
    index = json.loads((shop.layout() / "index.json").read_text())
    assert index["manifests"][0]["digest"].removeprefix("sha256:") in shop.blobs()
    assert {method for method, _, _ in shop.proxy.calls} == {"GET"}
    words = ["skopeo", "inspect", "--config", f"oci:{shop.layout()}:latest"]
    config = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    assert config["config"]["Cmd"] == ["main.handler"]


@pytest.mark.slow
def test_an_edit_keeps_the_layers_of_packages(shop: Shop) -> None:
    shop.ran()
    before, other = shop.blobs(), shop.blobs("two")
    shop.project.write({"main.py": handler("changed")})
    assert shop.ran() == ["one", "one"]
    after = shop.blobs()
    # Code, config and manifest.
    assert (len(before - after), len(after - before)) == (3, 3)
    assert shop.blobs("two") == other
    assert not any(one.startswith("image") for one in shop.planned())


@pytest.mark.slow
def test_a_second_project_gives_equal_images(
    shop: Shop, proxy: RegistryProxy, tmp_path: Path
) -> None:
    shop.ran()
    (tmp_path / "elsewhere").mkdir()
    other = Shop(tmp_path / "elsewhere", shop.base, proxy)
    other.ran()
    assert other.blobs() == shop.blobs()


@pytest.mark.slow
def test_an_upgrade_changes_the_layer_of_its_package(shop: Shop) -> None:
    shop.ran()
    before = shop.blobs()
    shop.requires(alpha="2.0", beta="1.0")
    assert [one.partition("-")[0] for one in shop.planned()] == ["wheel:alpha"]
    shop.ran()
    # The layer, config and manifest: not the code.
    assert len(before - shop.blobs()) == 3


@pytest.mark.slow
def test_an_up_to_date_package_calls_no_registry(shop: Shop) -> None:
    shop.ran()
    shop.proxy.calls.clear()
    assert shop.ran() == []
    assert shop.proxy.calls == []


@pytest.mark.slow
def test_local_calls_need_no_registry(shop: Shop) -> None:
    shop.proxy.faults.append(Fault("GET", "", status=503, times=999))
    shop.project.write({"event.json": "{}"})
    words = ("invoke", "local", "--function", "one", "--event", "event.json")
    done = shop.project.json(*words, env=shop.env)
    assert done.code == 0, done.out + done.err
    assert shop.proxy.calls == []


@pytest.mark.slow
def test_a_missing_base_stops_images_and_not_archives(shop: Shop) -> None:
    shop.proxy.faults.append(Fault("GET", "", status=404, times=999))
    done = shop.project.json("package", env=shop.env)
    assert done.code == ExitCode.INVALID
    assert done.error["code"] == "image/not-found"
    assert (shop.project.root / ".fabric/build/shop/one.zip").is_file()


@pytest.mark.parametrize("command", ["plan", "package"])
def test_an_unreachable_registry_is_reported_with_the_function_and_its_place(
    command: str, tmp_path: Path
) -> None:
    config = (
        "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"
        "functions:\n  one:\n    entry: main.handler\n"
        "    package:\n      type: image\n      base: 127.0.0.1:1/base:1\n"
    )
    project = in_process.project(tmp_path / "shop", config, {"main.py": handler("one")})
    done = project.json(command, env={"HOME": str(tmp_path)})
    assert (done.code, done.error["code"]) == (ExitCode.UNREACHABLE, "image/unreachable")
    assert done.error["message"].startswith("function `one`: the registry `127.0.0.1:1` cannot be")
    assert (done.error["where"]["file"], done.error["where"]["line"]) == ("fabric.yml", 8)
