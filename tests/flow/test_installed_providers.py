"""A provider of an installed package, by command lines: from the first plan to the removal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.example_provider import SOURCE, with_example_provider
from tests.support.project import Done, Project, environment, project

CONFIG = """\
service: shop
provider: {name: acme, runtime: python3.11}
extensions: {acme: {tier: small}}
functions:
  - {name: one, entry: one.py, triggers: [{type: http, path: /one}]}
"""
HANDLER = "def handler(event, context):\n    return 1\n"
REAL = {"FABRIC_ACME_REAL_DEPLOY": "1"}


class Shop:
    def __init__(self, folder: Path, code: str = "") -> None:
        self.project: Project = project(folder, CONFIG, {"one.py": HANDLER})
        self.cloud = folder / "cloud"
        self._env = with_example_provider(folder, code)

    def fabric(self, *words: str, **env: str) -> Done:
        return self.project.json(*words, env={**self._env, **env})

    def real(self, *words: str) -> Done:
        return self.fabric(*words, **REAL, ACME_FOLDER=str(self.cloud))

    @property
    def keys(self) -> list[str]:
        root = self.cloud / "objects"
        return sorted(str(one.relative_to(root)) for one in root.rglob("*") if one.is_file())


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def codes(done: Done) -> list[str]:
    return [one["code"] for one in json.loads(done.out)["error"]["problems"]]


def test_a_real_deploy_reaches_the_installed_provider_and_is_removed_again(shop: Shop) -> None:
    assert shop.real("validate").code == 0
    planned = shop.real("plan")
    assert planned.code == 0, planned.out
    deployed = shop.real("deploy")
    assert deployed.code == 0, deployed.out + deployed.err
    assert shop.keys[0] == "shop-dev/live"
    assert len(shop.keys) == 2
    calls = (shop.cloud / "calls").read_text()
    assert shop.real("deploy").code == 0
    assert (shop.cloud / "calls").read_text() == calls
    outputs = shop.real("outputs").result["services"][0]["outputs"]
    assert outputs["url"] == "https://shop-dev.acme.test"
    assert shop.real("remove").code == 0
    assert shop.keys == []


def test_a_deploy_is_simulated_without_the_switch(shop: Shop) -> None:
    deployed = shop.fabric("deploy")
    assert deployed.code == 0, deployed.out
    outputs = shop.fabric("outputs").result["services"][0]["outputs"]
    assert outputs["url"] == "https://shop-dev.acme.fabric.example"


def test_a_custom_command_deploys_in_place_of_the_package(shop: Shop) -> None:
    script = "import json; print(json.dumps({'url': 'https://own.test'}))"
    (shop.project.root / "own.py").write_text(script)
    line = f"{sys.executable} {shop.project.root / 'own.py'}"
    deployed = shop.fabric("deploy", **REAL, FABRIC_ACME_DEPLOY_CMD=line)
    assert deployed.code == 0, deployed.out
    outputs = shop.fabric("outputs").result["services"][0]["outputs"]
    assert outputs["url"] == "https://own.test"
    assert shop.keys == []


def test_the_option_chooses_an_installed_provider(shop: Shop) -> None:
    config = shop.project.root / "fabric.yml"
    config.write_text(CONFIG.replace("name: acme", "name: cloud1-lambda"))
    assert shop.fabric("deploy", "--provider", "acme").code == 0
    assert shop.fabric("deploy", "--provider", "acmee").code != 0


def test_missing_credentials_are_reported_before_a_call(shop: Shop) -> None:
    done = shop.fabric("deploy", **REAL)
    assert "credentials/missing" in codes(done)
    assert "ACME_FOLDER is not set" in done.out


def test_credentials_can_be_set_in_the_env_file_of_the_project(shop: Shop) -> None:
    (shop.project.root / ".env").write_text(f"ACME_FOLDER={shop.cloud}\n")
    deployed = shop.fabric("deploy", **REAL)
    assert deployed.code == 0, deployed.out
    assert len(shop.keys) == 2


def test_a_broken_package_is_reported_with_its_entry_point(tmp_path: Path) -> None:
    done = Shop(tmp_path, "raise ImportError('no acme-sdk')\n").fabric("plan")
    (problem,) = json.loads(done.out)["error"]["problems"]
    assert problem["code"] == "plugin/broken"
    assert problem["message"] == "cannot load the plugin `acme`: ImportError: no acme-sdk"
    assert problem["hint"] == "check its entry point acme_fabric:PROVIDER"


def test_an_unknown_provider_is_reported_as_before(tmp_path: Path) -> None:
    done = project(tmp_path, CONFIG, {"one.py": HANDLER}).json("plan")
    assert codes(done)[0] == "config/unknown-provider"


def test_no_package_is_searched_for_a_provider_of_fabric(shop: Shop) -> None:
    config = shop.project.root / "fabric.yml"
    config.write_text(CONFIG.replace("acme", "cloud1-lambda").replace("tier: small", ""))
    program = (
        "import sys\nfrom fabric.cli.main import run\nrun(['plan'])\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=shop.project.root,
        env={**environment(shop.project.home), **with_example_provider(shop.cloud)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stderr.splitlines()[-1].split()
    assert {"acme_fabric", "fabric.providers.installed", "fabric.system.plugins"} & {
        *loaded
    } == set()


@pytest.mark.network
def test_pip_installs_the_example(tmp_path: Path) -> None:
    target = tmp_path / "target"
    words = ("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(SOURCE))
    subprocess.run([sys.executable, *words], check=True)
    (entries,) = target.glob("*.dist-info/entry_points.txt")
    assert "acme = acme_fabric:PROVIDER" in entries.read_text()
