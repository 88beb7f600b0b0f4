"""Compiled packages of an archive for another platform: recognized, and replaced if possible."""

import platform
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.runtimes.archive import build_archive
from fabric.runtimes.calls.function import InstalledPackages
from fabric.runtimes.calls.native_files import Machine, find_foreign_platform, find_replacement
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.invoke import Invocation, call_once

ARM, X86 = (b"\x7fELF" + bytes(14) + one + bytes(40) for one in (b"\xb7\x00", b"\x3e\x00"))
LAPTOP = Machine("linux", "x86_64", "3.12")
VERSION = ".".join(map(str, sys.version_info[:2]))
FOREIGN = ARM if platform.machine() == "x86_64" else X86


@pytest.mark.parametrize(
    ("path", "content", "machine", "found"),
    [
        ("a/b.cpython-312-x86_64-linux-gnu.so", X86, LAPTOP, ""),
        ("a/b.abi3.so", X86, LAPTOP, ""),
        ("a/b.abi3.so", ARM, LAPTOP, "Linux arm64"),
        ("a/b.cpython-313-x86_64-linux-gnu.so", X86, LAPTOP, "Linux x86_64 and Python 3.13"),
        ("a/b.abi3.so", X86, Machine("darwin", "arm64", "3.12"), "Linux x86_64"),
        ("a/b.so", b"text", LAPTOP, ""),
        ("a/b.py", ARM, LAPTOP, ""),
    ],
)
def test_a_module_for_another_platform_is_recognized_by_its_header_and_its_name(
    path: str, content: bytes, machine: Machine, found: str
) -> None:
    assert find_foreign_platform(BuiltFile(path, content), machine) == found


def test_a_replacement_has_the_same_python_version(tmp_path: Path) -> None:
    folders = [tmp_path / f".venv/lib/python3.{n}/site-packages" for n in (11, 12)]
    for folder in folders:
        (folder / "numpy").mkdir(parents=True)
    (folders[1] / "_cffi.cpython-312-darwin.so").touch()
    names = [str(folder) for folder in folders]
    assert find_replacement("numpy", names, LAPTOP) == str(folders[1] / "numpy")
    module = find_replacement("_cffi.cpython-312-aarch64-linux-gnu.so", names, LAPTOP)
    assert module == str(folders[1] / "_cffi.cpython-312-darwin.so")
    assert not find_replacement("orjson", names, LAPTOP)


def test_a_call_uses_the_package_of_this_machine_and_warns(tmp_path: Path) -> None:
    site = tmp_path / f".venv/lib/python{VERSION}/site-packages"
    (site / "fast").mkdir(parents=True)
    (site / "fast/__init__.py").write_text("where = 'this machine'")
    files = {
        "index.py": b"import fast\ndef handler(event, context): return fast.where\n",
        "fast/__init__.py": b"where = 'archive'",
        "fast/core.abi3.so": FOREIGN,
        "slow/core.abi3.so": FOREIGN,
    }
    archive = build_archive([BuiltFile(name, content) for name, content in files.items()])
    call = Invocation("hello", archive, "index.handler", f"python{VERSION}")
    call = replace(call, installed=InstalledPackages(project=(str(site),)))
    end = call_once(call.local, b"null", {"PATH": ""})
    assert end.response == b'"this machine"'
    assert [one.code for one in end.warnings] == ["local/other-packages", "local/foreign-packages"]
    assert (site / "fast/__init__.py").is_file()
