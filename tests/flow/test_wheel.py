"""The wheel as users get it: built, installed into an empty environment, and used."""

import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.support.downloads import PIP_OFFLINE
from tests.support.project import PYTHON, PYTHON_SOURCES, REPO, Done

pytestmark = pytest.mark.slow


def call(
    program: Path, *words: str, cwd: Path, env: Mapping[str, str] = MappingProxyType({})
) -> Done:
    outside = {name: value for name, value in PIP_OFFLINE.items() if name != "PYTHONPATH"}
    env = {**outside, **env}
    done = subprocess.run(
        [str(program), *words], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    python = Path(sys.executable)
    words = ("-m", "pip", "wheel", str(REPO), "--no-deps", "-q", "-w", str(folder))
    built = call(python, *words, cwd=folder)
    assert built.code == 0, built.err
    [path] = folder.glob("*.whl")
    return path


def test_the_wheel_carries_code_and_schemas_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    schemas = {path.name for path in (REPO / "schemas").iterdir()}
    assert schemas
    assert {f"fabric/schemas/{name}" for name in schemas} <= names
    scripts = ("worker.mjs", "batches.mjs", "harness.mjs")
    assert {f"fabric/runtimes/nodejs/{name}" for name in scripts} <= names
    assert not [name for name in names if name.split("/")[0] in ("tests", "examples", "benchmarks")]


def test_an_installed_fabric_plans_and_builds(wheel: Path, tmp_path: Path) -> None:
    # The pip of this environment installs into the other one.
    venv.create(tmp_path / "env")
    scripts = tmp_path / "env" / "bin"
    pip = ("-m", "pip", "--python", str(scripts / "python"))
    install = (*pip, "install", "-q", "--no-compile", str(wheel))
    installed = call(Path(sys.executable), *install, cwd=tmp_path)
    assert installed.code == 0, installed.err
    fabric = scripts / "fabric"
    assert call(fabric, "--version", "--json", cwd=tmp_path).result["version"]
    for name, text in {"fabric.yml": PYTHON, **PYTHON_SOURCES}.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    planned = call(fabric, "plan", "--json", cwd=tmp_path / "project")
    assert planned.result["summary"]["run"] == 2
    assert call(fabric, "package", "--json", cwd=tmp_path / "project").result["summary"]["ran"] == 4
    fabricd = scripts / "fabricd"
    assert call(fabricd, "status", "--json", cwd=tmp_path).code == 3
    for words in ((fabricd, "start", "--json"), (fabric, "config-api", "--json")):
        lacking = call(*words, cwd=tmp_path)
        assert (lacking.code, lacking.error["code"]) == (1, "daemon/not-installed")
        assert "serverless-fabric[daemon]" in lacking.error["hint"]
    real = {
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": "arn:aws:iam::1:role/x",
    }
    without = call(fabric, "deploy", "--json", cwd=tmp_path / "project", env=real)
    assert without.error["code"] == "deploy/not-installed"
    assert "pip install 'serverless-fabric[cloud]'" in without.error["hint"]
    failed = call(fabric, "plan", "-c", "nowhere", "--json", cwd=tmp_path / "project")
    assert failed.error["code"] == "config/not-found"
