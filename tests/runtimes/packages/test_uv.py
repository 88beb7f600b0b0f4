"""uv in place of pip: when it is used, and that its results are the same."""

import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.packages.package_tool import PackageTool
from fabric.runtimes.packages.requirement_files import find_source
from fabric.runtimes.packages.uv import find_uv, open_uv
from fabric.runtimes.packages.vendor import lock_requirements
from fabric.runtimes.packages.wheels import list_wheel_files
from tests.support.downloads import COMPILED, PIP_OFFLINE
from tests.support.runtimes_project import write
from tests.support.wheels import add_to_wheels, environment, write_wheel

TARGET = PythonTarget("3.12", "x86_64", 34)
# Each starts pip as well.
pips = pytest.mark.slow


def download(
    text: str, target: PythonTarget, folder: Path, env: Mapping[str, str]
) -> dict[str, tuple[bytes, bool]]:
    """The content and mode of each file."""
    folder.mkdir()
    wheels = PackageTool(env).download(text, target, folder, locked=False)
    files = (file for wheel in wheels for file in list_wheel_files(wheel))
    return {file.path: (file.content, file.executable) for file in files}


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_program_on_path_comes_before_the_package(tmp_path: Path) -> None:
    packaged = find_uv({"PATH": ""})
    assert packaged is not None
    own = program(tmp_path, "uv")
    assert find_uv({"PATH": str(tmp_path)}) == own
    assert find_uv({"PATH": str(tmp_path), "FABRIC_PIP": "pip"}) is None
    with pytest.raises(FabricError) as caught:
        find_uv({"FABRIC_PIP": "poetry"})
    assert caught.value.first.code == "usage/bad-package-tool"


@pytest.mark.parametrize(
    ("text", "glibc"),
    [
        ("one==1\n", 26),
        ("./one\n", 34),
        ("--pre\none\n", 34),
        ("one ; platform_release == '0'\n", 34),
        ("one @ https://${HOST}/one.whl\n", 34),
    ],
)
def test_what_uv_would_do_in_another_way_is_left_to_pip(text: str, glibc: int) -> None:
    env = {"PIP_CONFIG_FILE": "/dev/null"}
    assert open_uv(env, "download", "one==1\n", TARGET) is not None
    assert open_uv(env, "download", text, PythonTarget("3.12", "x86_64", glibc)) is None


@pips
@pytest.mark.parametrize("architecture", ["x86_64", "arm64"])
def test_both_tools_give_the_same_files(architecture: str, tmp_path: Path) -> None:
    target = PythonTarget("3.12", architecture, 34)
    found = [
        download(f"{COMPILED}\n", target, tmp_path / tool, {**PIP_OFFLINE, "FABRIC_PIP": tool})
        for tool in ("pip", "uv")
    ]
    assert found[0] == found[1]
    assert any(name.endswith(".so") for name in found[0])


@pips
def test_both_tools_leave_out_what_is_not_imported(tmp_path: Path) -> None:
    """Also files of another wheel with the same name, and data that is installed elsewhere."""
    index = tmp_path / "index"
    more = {
        "first": {"shared.py": "1", "first-1.0.data/purelib/inner.py": "2"},
        "second": {
            "shared.py": "3",
            "second-1.0.data/scripts/run": "4",
            "second-1.0.data/data/share/x": "5",
            "second-1.0.dist-info/entry_points.txt": "[console_scripts]\nrun = second:main\n",
        },
    }
    for name, files in more.items():
        write_wheel(index, name)
        add_to_wheels(index, name, files)
    found = [
        download(
            "first\nsecond\n", TARGET, tmp_path / tool, {**environment(index), "FABRIC_PIP": tool}
        )
        for tool in ("pip", "uv")
    ]
    assert found[0] == found[1]
    assert found[0]["shared.py"] == (b"3", False)
    assert {"inner.py", "second-1.0.dist-info/entry_points.txt"} <= found[0].keys()
    assert not {"run", "bin/run", "share/x", ".lock"} & found[0].keys()


@pips
def test_both_tools_write_the_same_lock(tmp_path: Path) -> None:
    index = tmp_path / "index"
    write_wheel(index, "app", ["part[more]>1 ; python_version >= '3.12'", "arm ; os_name == 'nt'"])
    write_wheel(index, "part", ["late ; extra == 'more'"], version="1.0")
    write_wheel(index, "part", ["late ; extra == 'more'"], version="2.0")
    write_wheel(index, "late")
    write_wheel(index, "arm")
    locks = []
    for tool in ("pip", "uv"):
        root = write(tmp_path / tool, {"requirements.txt": "app[more]\n"})
        asked = [VendorInputs("shop", ".", "app[more]\n", "3.12", "x86_64", glibc=34)]
        lock_requirements(root, asked, {**environment(index), "FABRIC_PIP": tool})
        found = find_source(root, ".")
        assert found is not None
        locks.append(found.text)
    assert locks[0] == locks[1]
    assert "part==2.0" in locks[1]


@pips
def test_a_version_of_uv_that_does_not_know_the_target_is_left_for_pip(tmp_path: Path) -> None:
    write_wheel(tmp_path / "index", "one")
    old = program(tmp_path, "uv")
    old.write_text(
        "#!/bin/sh\necho \"error: invalid value 'x' for '--python-platform <P>'\" >&2\nexit 2\n"
    )
    env = {**environment(tmp_path / "index"), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert "one.py" in download("one==1.0\n", TARGET, tmp_path / "files", env)
    pins = PackageTool(env).resolve("one\n", TARGET, tmp_path)
    assert [pin.version for pin in pins] == ["1.0"]


@pips
def test_an_edited_file_in_the_cache_of_uv_is_not_packed(tmp_path: Path) -> None:
    """An environment can have a hard link to it. pip downloads the wheel instead."""
    write_wheel(tmp_path / "index", "one")
    env = {**environment(tmp_path / "index"), "UV_CACHE_DIR": str(tmp_path / "cache")}
    uv = {**env, "FABRIC_PIP": "uv"}
    clean = download("one==1.0\n", TARGET, tmp_path / "first", uv)
    (cached,) = (tmp_path / "cache").rglob("one.py")
    cached.write_text("VERSION = 'edited'\n")
    opened = open_uv(uv, "download", "one==1.0\n", TARGET)
    assert opened is not None
    (tmp_path / "second").mkdir()
    assert opened.download("one==1.0\n", tmp_path / "second", locked=False) is None
    assert download("one==1.0\n", TARGET, tmp_path / "third", uv) == clean
