"""One task per wheel, by whole commands: which wheels are downloaded, and how often."""

import shutil
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.model.hashing import hash_bytes
from fabric.model.problems import ExitCode
from fabric.runtimes.packages.uv import find_uv
from tests.support import in_process
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.git import under_git
from tests.support.project import PYTHON_SOURCES, Project, handler
from tests.support.servers.fleet import Fleet
from tests.support.shared_caches import on_objstore2
from tests.support.two_machines import another_machine
from tests.support.wheels import ANY, add_to_wheels, environment, write_wheel

# AWS's Python 3.12 has a version of glibc that uv knows.
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.12}
functions:
  - {name: one, entry: main.handler}
  - {name: two, entry: main.handler}
"""
NAMES = ("alpha", "beta", "gamma")


def requirements(folder: Path, *names: str, **versions: str) -> str:
    lines = []
    for name in names:
        version = versions.get(name, "1.0")
        wheel = folder / "index" / name / f"{name}-{version}-{ANY}.whl"
        if not wheel.exists():  # it would have another time in it
            write_wheel(folder / "index", name, version=version)
        lines.append(f"{name}=={version} --hash=sha256:{hash_bytes(wheel.read_bytes())}\n")
    return "".join(lines)


def settings(folder: Path) -> Mapping[str, str]:
    """An index of files, and a uv that notes its calls."""
    found = {k: v for k, v in environment(folder / "index").items() if k.startswith("PIP_")}
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    script = f'#!/bin/sh\necho "$@" >> {folder}/calls\nexec {find_uv(ENVIRONMENT)} "$@"\n'
    (programs / "uv").write_text(script)
    (programs / "uv").chmod(0o755)
    own = {"UV_CACHE_DIR": str(folder / "uv-cache"), "HOME": str(folder)}
    return {**found, **own, "PATH": f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin"}


def calls(folder: Path) -> int:
    path = folder / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def shop(folder: Path, text: str) -> Project:
    sources = {**PYTHON_SOURCES, "main.py": handler("x"), "requirements.txt": text}
    return in_process.project(folder / "shop", CONFIG, sources)


def list_planned(made: Project, env: Mapping[str, str]) -> dict[str, str]:
    done = made.json("plan", "--for", "package", env=env)
    rows = done.result["tasks"]
    return {one["id"].rpartition("-")[0]: one["action"] for one in rows if one["kind"] == "wheel"}


def test_all_missing_wheels_of_a_lock_are_downloaded_with_one_process(tmp_path: Path) -> None:
    made, env = shop(tmp_path, requirements(tmp_path, *NAMES)), settings(tmp_path)
    assert set(list_planned(made, env).values()) == {"run"}
    done = made.fabric("plan", "--for", "package", env=env)
    assert "3 wheels  " in done.out
    assert "known after 3 wheels" in done.out
    assert "wheel:" not in done.out
    for words in (["plan", "--for", "package", "--graph", "tree"], ["explain", "package:shop/one"]):
        shown = made.fabric(*words, env=env).out
        assert "3 wheels" in shown
        assert "wheel:" not in shown
    assert made.fabric("package", env=env).code == 0
    assert calls(tmp_path) == 1
    for name in ("one", "two"):
        archive = zipfile.ZipFile(made.root / f".fabric/build/shop/{name}.zip")
        assert {f"{one}.py" for one in NAMES} <= set(archive.namelist())
        assert archive.testzip() is None


def test_a_new_version_of_one_package_downloads_one_wheel(tmp_path: Path) -> None:
    made, env = shop(tmp_path, requirements(tmp_path, *NAMES)), settings(tmp_path)
    assert made.fabric("package", env=env).code == 0
    made.write({"requirements.txt": requirements(tmp_path, *NAMES, beta="2.0")})
    actions = list_planned(made, env)
    assert actions == {
        "wheel:alpha-1.0": "skip",
        "wheel:beta-2.0": "run",
        "wheel:gamma-1.0": "skip",
    }
    assert made.fabric("package", env=env).code == 0
    assert calls(tmp_path) == 2
    made.write({"requirements.txt": requirements(tmp_path, *NAMES, beta="1.0")})
    assert set(list_planned(made, env).values()) == {"skip"}
    assert made.fabric("package", env=env).code == 0
    assert calls(tmp_path) == 2


def test_pip_and_uv_give_the_same_archives(tmp_path: Path) -> None:
    text, env = requirements(tmp_path, *NAMES), settings(tmp_path)
    made = shop(tmp_path, text)
    archives = []
    for tool in ("uv", "pip"):
        shutil.rmtree(made.root / ".fabric", ignore_errors=True)
        assert made.fabric("package", env={**env, "FABRIC_PIP": tool}).code == 0
        archives.append(made.archives())
        # The tool is in no key.
        assert list_planned(made, {**env, "FABRIC_PIP": "uv"})["wheel:beta-1.0"] == "skip"
    assert archives[0] == archives[1]
    assert calls(tmp_path) == 1


def test_services_share_the_task_of_a_wheel(tmp_path: Path) -> None:
    text, env = requirements(tmp_path, "alpha", "beta"), settings(tmp_path)
    made = in_process.compose(tmp_path / "all", one=(), two=())
    for name in ("one", "two"):
        config = CONFIG.replace("shop", name)
        made.write({f"{name}/fabric.yml": config, f"{name}/main.py": handler("x")})
        made.write({f"{name}/requirements.txt": text})
    made.write({"two/requirements.txt": text + requirements(tmp_path, "gamma")})
    planned = made.json("compose", "plan", "--for", "package", env=env)
    wheels = {
        one["id"]: one["service"] for one in planned.result["tasks"] if one["kind"] == "wheel"
    }
    assert sorted(wheels.values()) == ["", "", "two"]
    done = made.fabric("compose", "package", env=env)
    assert done.code == 0, done.err
    # Those of the second lock that are not in the first one too.
    assert calls(tmp_path) == 2


def test_a_wrong_hash_is_reported_once(tmp_path: Path) -> None:
    text = requirements(tmp_path, *NAMES)
    (wheel,) = (tmp_path / "index/beta").glob("*.whl")
    digest = hash_bytes(wheel.read_bytes())
    made = shop(tmp_path, text.replace(digest, "0" * 64))
    done = made.json("package", env=settings(tmp_path))
    assert done.code == ExitCode.FAILED
    assert [one["code"] for one in done.error["problems"]] == ["vendor/hash-mismatch"]
    assert set(list_planned(made, settings(tmp_path)).values()) == {"run", "skip"}


def test_another_machine_downloads_nothing_for_an_unchanged_deployment(tmp_path: Path) -> None:
    made, env = shop(tmp_path, requirements(tmp_path, *NAMES)), settings(tmp_path)
    assert made.fabric("deploy", env=env).code == 0
    shutil.rmtree(made.root / ".fabric/cache")
    shutil.rmtree(made.root / ".fabric/build")
    done = made.fabric("plan", env=env)
    assert "No changes." in done.out
    assert made.fabric("deploy", env=env).code == 0
    assert calls(tmp_path) == 1


@pytest.mark.parametrize("line", ["alpha==1.0\n", "alpha==1.0 --hash=sha512:00\n"])
def test_a_lock_without_hashes_has_no_wheel_tasks(line: str, tmp_path: Path) -> None:
    made = shop(tmp_path, requirements(tmp_path, "beta") + line)
    assert list_planned(made, settings(tmp_path)) == {}


def two_indexes(folder: Path) -> tuple[str, list[str]]:
    """A lock that allows the different wheels of two indexes, and their addresses."""
    hashes = []
    for name in ("first", "second"):
        write_wheel(folder / name, "alpha")
        add_to_wheels(folder / name, "alpha", {"origin.py": name})
        (wheel,) = (folder / name / "alpha").glob("*.whl")
        hashes.append(f" --hash=sha256:{hash_bytes(wheel.read_bytes())}")
    addresses = [(folder / name).as_uri() for name in ("first", "second")]
    return f"alpha==1.0{''.join(hashes)}\n", addresses


@pytest.mark.parametrize("where", ["environment", "requirements", "a variable in requirements"])
def test_the_index_selects_one_of_several_hashes(where: str, tmp_path: Path) -> None:
    lock, addresses = two_indexes(tmp_path)
    made, env = shop(tmp_path, lock), settings(tmp_path)
    if where == "a variable in requirements":
        made.write({"requirements.txt": f"--index-url ${{ORIGIN}}\n{lock}"})
    planned, packed = [], []
    for address in (*addresses, addresses[0]):
        variable = "PIP_INDEX_URL" if where == "environment" else "ORIGIN"
        own = {**env, variable: address}
        if where == "requirements":
            made.write({"requirements.txt": f"--index-url {address}\n{lock}"})
        planned.append(list_planned(made, own)["wheel:alpha-1.0"])
        assert made.fabric("package", env=own).code == 0
        archive = zipfile.ZipFile(made.root / ".fabric/build/shop/one.zip")
        packed.append(archive.read("origin.py").decode())
    assert packed == ["first", "second", "first"]
    assert planned == ["run", "run", "skip"]


def test_another_index_does_not_affect_a_wheel_with_one_hash(tmp_path: Path) -> None:
    made, env = shop(tmp_path, requirements(tmp_path, "alpha")), settings(tmp_path)
    assert made.fabric("package", env=env).code == 0
    other = {**env, "PIP_INDEX_URL": (tmp_path / "nowhere").as_uri()}
    assert list_planned(made, other) == {"wheel:alpha-1.0": "skip"}


def test_another_machine_gets_wheels_from_the_shared_cache(fleet: Fleet, tmp_path: Path) -> None:
    place, env = on_objstore2(fleet), settings(tmp_path)
    first = shop(tmp_path, requirements(tmp_path, *NAMES))
    under_git(first)
    second = another_machine(first, tmp_path)
    assert first.fabric("package", env={**env, **place.writing}).code == 0
    # A lock with one more package: the others are not downloaded.
    text = requirements(tmp_path, *NAMES, "delta")
    second.write({"requirements.txt": text})
    done = second.json("package", env={**env, **place.env})
    assert done.code == 0, done.err
    assert done.result["summary"]["remote"]["hits"] >= len(NAMES)
    assert calls(tmp_path) == 2
    assert "wheel:delta" in done.err
    assert "wheel:alpha" not in done.err
    archive = zipfile.ZipFile(second.root / ".fabric/build/shop/one.zip")
    assert {"alpha.py", "delta.py"} <= set(archive.namelist())
