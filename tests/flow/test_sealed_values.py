"""Sealing without the package that does it: a process of its own finds none."""

from pathlib import Path

from tests.support.project import PYTHON, project


def test_key_without_the_package_is_reported_with_the_install_command(tmp_path: Path) -> None:
    made = project(tmp_path, PYTHON)
    shadow = tmp_path / "shadow"
    made.write({"../shadow/cryptography/__init__.py": "raise ImportError(name='cryptography')\n"})
    path = f"{shadow}:{Path(__file__).parents[2]}"
    env = {"FABRIC_STATE_KEY": "1f" * 32, "PYTHONPATH": path}
    done = made.json("deploy", env=env)
    assert (done.code, done.error["code"]) == (1, "state/not-installed")
    assert done.error["hint"] == "pip install 'serverless-fabric[sealed]'"
    assert not (made.root / ".fabric/state").exists()
    assert made.json("deploy", env={"PYTHONPATH": path}).code == 0
