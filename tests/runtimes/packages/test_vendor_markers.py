"""Environment markers are read for the target, of requirements of requirements too."""

from pathlib import Path

import pytest

from fabric.model.hashing import hash_bytes
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.contract import Built
from fabric.runtimes.packages.requirement_files import find_source
from fabric.runtimes.packages.vendor import lock_requirements, vendor
from tests.support.runtimes_project import names, write
from tests.support.wheels import environment, write_wheel

# Each starts pip, some a few times.
pytestmark = pytest.mark.slow

# What the target says of itself; most of it is not what this machine says.
TRUE = {
    "implementation-name": "implementation_name == 'cpython'",
    "implementation-version": "implementation_version == '3.13.0'",
    "os-name": "os_name == 'posix'",
    "platform-machine": "platform_machine == 'aarch64'",
    "platform-python-implementation": "platform_python_implementation == 'CPython'",
    "platform-release": "platform_release == '0'",
    "platform-system": "platform_system == 'Linux'",
    "platform-version": "platform_version == '0'",
    "python-full-version": "python_full_version == '3.13.0'",
    "python-version": "python_version == '3.13'",
    "sys-platform": "sys_platform == 'linux'",
    "old-python": "python_version >= '3.13' and python_version < '3.14'",
    "either": "platform_machine == 'arm64' or platform_machine == 'aarch64'",
}
NOT = {"==": "!=", ">=": "<", "<": ">=", " and ": " or ", " or ": " and "}


def opposite(marker: str) -> str:
    words = marker.split(" ")
    return " ".join(NOT.get(word, NOT.get(f" {word} ", word).strip()) for word in words)


def inputs(source: str, python: str = "3.13", platform: str = "aarch64") -> VendorInputs:
    return VendorInputs("shop", "api", source, python, platform)


def modules(built: Built) -> set[str]:
    return {name.removesuffix(".py") for name in names(built) if name.endswith(".py")}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """For each marker variable two packages, one that the target needs and one that it does not;
    `app` asks for all of them, and `top` for `app`."""
    index = tmp_path / "index"
    for name in TRUE:
        write_wheel(index, f"yes-{name}")
        write_wheel(index, f"no-{name}")
    needs = [f"yes-{name} ; {marker}" for name, marker in TRUE.items()]
    needs += [f"no-{name} ; {opposite(marker)}" for name, marker in TRUE.items()]
    write_wheel(index, "extra-only")
    write_wheel(index, "app", [*needs, "extra-only ; extra == 'more'"])
    write_wheel(index, "top", ["app"])
    return index


UNKNOWN = ("release", "version")
WANTED = {f"yes_{name}".replace("-", "_") for name in TRUE}


@pytest.mark.parametrize("tool", ["pip", "uv"])
@pytest.mark.parametrize("asked", ["app==1.0\n", "top==1.0\n"])
def test_only_packages_required_by_the_target_are_vendored(
    asked: str, tool: str, index: Path, tmp_path: Path
) -> None:
    built = vendor(tmp_path, inputs(asked), {**environment(index), "FABRIC_PIP": tool})
    found = modules(built) - {"app", "top"}
    if tool == "uv":  # it knows no release of the target's system, not even 0
        found -= {f"{word}_platform_{part}" for word in ("yes", "no") for part in UNKNOWN}
        assert found == WANTED - {f"yes_platform_{part}" for part in UNKNOWN}
    else:
        assert found == WANTED


def test_markers_of_the_requirements_themselves_are_the_targets(
    index: Path, tmp_path: Path
) -> None:
    lines = [f"yes-{name}==1.0 ; {marker}\n" for name, marker in TRUE.items()]
    lines += [f"no-{name}==1.0 ; {opposite(marker)}\n" for name, marker in TRUE.items()]
    assert modules(vendor(tmp_path, inputs("".join(lines)), environment(index))) == WANTED


def test_requested_extra_is_vendored(index: Path, tmp_path: Path) -> None:
    built = vendor(tmp_path, inputs("app[more]==1.0\n"), environment(index))
    assert "extra_only" in modules(built)


def test_a_lock_serves_every_target_of_its_service(tmp_path: Path) -> None:
    index = tmp_path / "index"
    for name in ("every", "old", "arm", "intel"):
        write_wheel(index, name)
    needs = ["every", "old ; python_version < '3.13'", "arm ; platform_machine == 'aarch64'"]
    write_wheel(index, "app", [*needs, "intel ; platform_machine == 'x86_64'"])
    write(tmp_path, {"api/requirements.txt": "app\n"})
    asked = [inputs("app\n", "3.12", "x86_64"), inputs("app\n", "3.13", "aarch64")]
    warnings = lock_requirements(tmp_path, asked, environment(index))
    assert [problem.code for problem in warnings] == ["vendor/locked"]
    lock = find_source(tmp_path, "api")
    assert lock is not None
    wanted = {
        ("3.12", "x86_64"): {"app", "every", "old", "intel"},
        ("3.12", "aarch64"): {"app", "every", "old", "arm"},
        ("3.13", "aarch64"): {"app", "every", "arm"},
        ("3.13", "x86_64"): {"app", "every", "intel"},
    }
    for (python, platform), expected in wanted.items():
        built = vendor(tmp_path, inputs(lock.text, python, platform), environment(index))
        assert modules(built) == expected
        assert built.warnings == ()


def test_versions_that_differ_by_target_are_locked_apart(tmp_path: Path) -> None:
    index = tmp_path / "index"
    write_wheel(
        index, "app", ["part<2 ; python_version < '3.13'", "part>=2 ; python_version >= '3.13'"]
    )
    write_wheel(index, "part", version="1.0")
    write_wheel(index, "part", version="2.0")
    write(tmp_path, {"api/requirements.txt": "app\n"})
    asked = [inputs("app\n", "3.12"), inputs("app\n", "3.13")]
    lock_requirements(tmp_path, asked, environment(index))
    lock = find_source(tmp_path, "api")
    assert lock is not None
    for python, version in (("3.12", b"1.0"), ("3.13", b"2.0")):
        built = vendor(tmp_path, inputs(lock.text, python), environment(index))
        assert [version in file.content for file in built.files if file.path == "part.py"] == [True]


def test_lock_for_another_python_is_recreated_and_reported(index: Path, tmp_path: Path) -> None:
    write_wheel(index, "late")
    write_wheel(index, "thing", ["late ; python_version >= '3.13'"])
    write(tmp_path, {"api/requirements.txt": "thing\n"})
    lock_requirements(tmp_path, [inputs("thing\n", "3.12")], environment(index))
    lock = find_source(tmp_path, "api")
    assert lock is not None
    built = vendor(tmp_path, inputs(lock.text), environment(index))
    assert modules(built) == {"thing", "late"}
    (locked,) = built.warnings
    assert locked.code == "vendor/locked"
    assert "another runtime than Python 3.13 on aarch64" in locked.message


def test_external_lock_is_used_and_its_omissions_are_reported(index: Path, tmp_path: Path) -> None:
    write_wheel(index, "late")
    write_wheel(index, "thing", ["late ; sys_platform == 'linux'"])
    digest = hash_bytes((index / "thing" / "thing-1.0-py3-none-any.whl").read_bytes())
    lock = f"thing==1.0 --hash=sha256:{digest}\n"
    built = vendor(tmp_path, inputs(lock), environment(index))
    assert modules(built) == {"thing"}
    assert [problem.code for problem in built.warnings] == ["vendor/incomplete"]
