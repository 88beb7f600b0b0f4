"""The handler SDK for Node: its own tests, beside the real frameworks, on each Node there is."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from fabric.runtimes.nodejs.toolchain import find_node, find_npm_command
from tests.support import node_sdk
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.downloads import NPM_OFFLINE
from tests.support.node_sdk import REPO, SDK

pytestmark = pytest.mark.slow

TESTS = sorted(path.name for path in (SDK / "test").glob("*.test.mjs"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    node_sdk.copy(tmp_path / "node")
    return tmp_path / "node"


@pytest.mark.sampled
@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("node", node_sdk.nodes(), ids=str)
def test_node_sdk_test_suite_passes(node: Path, name: str, checkout: Path) -> None:
    command = (str(node), "--test", f"test/{name}")
    env = {"PATH": ENVIRONMENT["PATH"], "HOME": str(checkout.parent)}
    done = subprocess.run(
        command, cwd=checkout, env=env, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["express", "fastify"])
def test_the_examples_of_its_page_answer(name: str, checkout: Path) -> None:
    blocks = re.findall(r"```js\n(.*?)```", (SDK / "README.md").read_text(), re.DOTALL)
    (code,) = (block for block in blocks if block.startswith(f'import {name} from "{name}"'))
    call = '\nconsole.log(JSON.stringify(await handler({ rawPath: "/users/7" })));\n'
    (checkout / "example.mjs").write_text(code + call)
    command = (str(find_node(ENVIRONMENT)), "example.mjs")
    done = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    assert (answer["statusCode"], answer["body"]) == (200, '{"id":"7"}')


def test_published_files_are_the_code_types_and_license(tmp_path: Path) -> None:
    pack = (*find_npm_command(ENVIRONMENT), "pack", "--dry-run", "--json", "--ignore-scripts")
    env = {**NPM_OFFLINE, "npm_config_cache": str(tmp_path)}
    done = subprocess.run(pack, cwd=SDK, env=env, check=True, capture_output=True, text=True)
    (packed,) = json.loads(done.stdout)
    listed = {path.relative_to(SDK).as_posix() for path in node_sdk.published()}
    assert {one["path"] for one in packed["files"]} == listed


def test_it_needs_no_package_and_has_the_license_of_the_house() -> None:
    manifest = json.loads((SDK / "package.json").read_text())
    assert {"dependencies", "peerDependencies", "optionalDependencies"} & manifest.keys() == set()
    assert (manifest["license"], manifest["engines"]) == ("Apache-2.0", {"node": ">=18"})
    assert (SDK / "LICENSE").read_bytes() == (REPO / "LICENSE").read_bytes()
