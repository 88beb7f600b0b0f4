"""Which Python a function is called with here."""

import sys
from pathlib import Path

import pytest

from fabric.runtimes.python.interpreters import find_interpreter, find_version_problems

OWN = "{}.{}".format(*sys.version_info[:2])
OTHER = "3.12" if OWN != "3.12" else "3.13"


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("runtime", ["python", f"python{OWN}"])
def test_fabric_interpreter_runs_its_version(runtime: str) -> None:
    found = find_interpreter(runtime, {})
    assert (found.program, found.wanted) == (sys.executable, "")
    assert not find_version_problems({"a": runtime}, {})


def test_the_version_of_the_runtime_is_taken_from_path_but_no_shim(tmp_path: Path) -> None:
    shim = program(tmp_path / "shims" / f"python{OTHER}")
    real = program(tmp_path / "bin" / f"python{OTHER}")
    path = f"{Path(shim).parent}:{Path(real).parent}"
    found = find_interpreter(f"python{OTHER}", {"PATH": path})
    assert (found.program, found.version, found.wanted) == (real, OTHER, "")
    assert find_interpreter(f"python{OTHER}", {"PATH": str(Path(shim).parent)}).wanted == OTHER


@pytest.mark.parametrize(
    "place",
    [
        f".local/share/uv/python/cpython-{OTHER}.4-linux-x86_64-gnu/bin",
        f".pyenv/versions/{OTHER}.1/bin",
    ],
)
def test_interpreters_that_uv_and_pyenv_manage_are_found(tmp_path: Path, place: str) -> None:
    real = program(tmp_path / place / f"python{OTHER}")
    assert find_interpreter(f"python{OTHER}", {"HOME": str(tmp_path)}).program == real


def test_missing_interpreter_reports_both_versions(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
    runtimes = {"b": f"python{OTHER}", "a": f"python{OTHER}", "c": "nodejs20.x"}
    (found,) = find_version_problems(runtimes, env)
    assert found.code == "local/other-python"
    assert found.message == (
        f"`a`, `b`: the runtime is Python {OTHER}, but Python {OWN} runs it locally"
    )
    assert f"python{OTHER}" in found.hint


def test_interpreter_too_old_for_the_harness_is_not_used(tmp_path: Path) -> None:
    program(tmp_path / "python3.8")
    assert find_interpreter("python3.8", {"PATH": str(tmp_path)}).wanted == "3.8"
