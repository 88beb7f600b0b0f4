"""Which Node runs a function locally."""

from pathlib import Path

import pytest

from fabric.runtimes.nodejs.node_versions import find_node_of


def put_node(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    put_node(tmp_path / "bin/node")
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}


@pytest.mark.parametrize(
    "place",
    [
        ".nvm/versions/node/v20.11.1/bin/node",
        ".local/share/fnm/node-versions/v20.1.0/installation/bin/node",
        ".volta/tools/image/node/20.0.0/bin/node",
        ".local/share/mise/installs/node/20.5.0/bin/node",
        ".asdf/installs/nodejs/20.5.0/bin/node",
    ],
)
def test_the_version_of_the_runtime_is_used_if_a_version_manager_has_it(
    tmp_path: Path, env: dict[str, str], place: str
) -> None:
    found = put_node(tmp_path / place)
    assert find_node_of("nodejs20.x", env) == found
    assert find_node_of("nodejs22.x", env) == tmp_path / "bin/node"
    assert find_node_of("nodejs", env) == tmp_path / "bin/node"


def test_the_newest_version_is_used(tmp_path: Path, env: dict[str, str]) -> None:
    for version in ("v20.9.0", "v20.11.0", "v20.10.0"):
        put_node(tmp_path / f"nvm/versions/node/{version}/bin/node")
    found = find_node_of("nodejs20.x", {**env, "NVM_DIR": str(tmp_path / "nvm")})
    assert found.parts[-3] == "v20.11.0"


def test_node_on_path_is_used_if_its_path_names_the_version(tmp_path: Path) -> None:
    active = put_node(tmp_path / "tools/v20.1.0/bin/node")
    put_node(tmp_path / ".nvm/versions/node/v20.11.1/bin/node")
    env = {"PATH": str(active.parent), "HOME": str(tmp_path)}
    assert find_node_of("nodejs20.x", env) == active
