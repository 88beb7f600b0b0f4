"""Wheels as files: their names, and the dependencies that no other wheel meets."""

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError
from fabric.runtimes.archive import pack_file, pack_files, unpack_archive
from fabric.runtimes.packages.wheels import (
    UnpackedWheel,
    ZippedWheel,
    list_unmet_dependencies,
    list_wheel_files,
    read_wheel_name,
)
from tests.support.wheels import add_to_wheels, write_wheel

TARGET = PythonTarget("3.12", "arm64").markers()


def unmet(folder: Path, requirements: str) -> tuple[tuple[str, str], ...]:
    found = [zipfile.ZipFile(one) for one in folder.glob("*/*.whl")]
    metadata = [one.read(name) for one in found for name in one.namelist() if "METADATA" in name]
    return list_unmet_dependencies(metadata, requirements, TARGET)


@pytest.mark.parametrize(
    ("requires", "listed", "missing"),
    [
        ("late", "app==1.0", True),
        ("Late.Name>=2", "app==1.0", True),
        ("other", "app==1.0", False),
        ("late ; python_version >= '3.12'", "app==1.0", True),
        ("late ; python_version < '3.12'", "app==1.0", False),
        ("late ; platform_machine == 'x86_64'", "app==1.0", False),
        ("late ; extra == 'more'", "app==1.0", False),
        ("late ; extra == 'more'", "App[More]==1.0 --hash=sha256:00", True),
    ],
)
def test_a_dependency_that_the_target_needs_and_no_wheel_meets_is_unmet(
    requires: str, listed: str, tmp_path: Path, *, missing: bool
) -> None:
    write_wheel(tmp_path, "app", [requires])
    write_wheel(tmp_path, "other")
    found = unmet(tmp_path, listed)
    assert bool(found) is missing
    assert all(owner == "app" for _, owner in found)


def test_a_dependency_that_cannot_be_parsed_is_not_checked(tmp_path: Path) -> None:
    odd = ["late (>=1.0dev-r5", "dep (>=1.0.*)", "x ; sys_platform ~= 'linux'", "y ; 'x' in extras"]
    write_wheel(tmp_path, "app", [*odd, "needed"])
    assert unmet(tmp_path, "app==1.0") == (("needed", "app"),)


def test_the_name_of_a_wheel_is_normalized() -> None:
    assert read_wheel_name("Zope.Interface-5.0-py3-none-any.whl") == "zope-interface"
    assert read_wheel_name("alpha-2004d-py3-none-any.whl") == "alpha"


NAMES = st.from_regex(r"[a-c]{1,3}(/[a-c]{1,3}){0,2}\.(py|so|pyc)", fullmatch=True)
METADATA = "one-1.0.dist-info/METADATA"


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> ZippedWheel:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as bundle:
        for path, content in files.items():
            bundle.writestr(path, content)
    return ZippedWheel("one-1.0-py3-none-any.whl", buffer.getvalue())


@given(files=st.dictionaries(NAMES, st.binary(max_size=300)), is_stored=st.booleans())
def test_a_packed_wheel_is_a_clean_installation_without_byte_code(
    files: dict[str, bytes], *, is_stored: bool
) -> None:
    method = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
    wheel = zipped({**files, METADATA: b"Name: one\n"}, method)
    packed = pack_files(map(pack_file, list_wheel_files(wheel)))
    found = {file.path: file.content for file in unpack_archive(packed.archive)}
    expected = {path: content for path, content in files.items() if not path.endswith(".pyc")}
    assert found == {**expected, METADATA: b"Name: one\n"}


def test_both_forms_of_a_wheel_have_the_same_files(tmp_path: Path) -> None:
    files = {
        METADATA: b"Name: one\n",
        "one-1.0.dist-info/RECORD": b"",
        "one/__init__.py": b"1",
        "one/__pycache__/x.pyc": b"2",
        "one-1.0.data/platlib/inner.so": b"3",
        "one-1.0.data/scripts/run": b"4",
        "one-1.0.data/data/share/x": b"5",
    }
    wheel = zipped(files)
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as bundle:
        bundle.extractall(tmp_path / "one")
    other = UnpackedWheel("one-1.0", tmp_path / "one")
    found = sorted(list_wheel_files(wheel), key=lambda file: file.path)
    assert found == sorted(list_wheel_files(other), key=lambda file: file.path)
    assert [file.path for file in found] == ["inner.so", METADATA, "one/__init__.py"]


@pytest.mark.parametrize("path", ["../out.py", "/abs.py", "a\\b.py", "c:/x.py"])
def test_a_path_outside_of_the_archive_is_rejected(path: str) -> None:
    with pytest.raises(FabricError) as caught:
        tuple(list_wheel_files(zipped({METADATA: b"", path: b""})))
    assert caught.value.first.code == "vendor/bad-wheel"


@pytest.mark.parametrize(("field", "value"), [(14, 1), (22, 7), (22, 7_000_000), (18, 3)])
def test_an_entry_with_a_wrong_header_is_rejected(field: int, value: int) -> None:
    """Its checksum, its size and its packed size, in both headers."""
    wheel = zipped({METADATA: b"x" * 500})
    content = bytearray(wheel.content)
    start = content.index(b"PK\x01\x02") + 2
    for place in (field, start + field):
        content[place : place + 4] = value.to_bytes(4, "little")
    with pytest.raises(FabricError) as caught:
        tuple(list_wheel_files(ZippedWheel(wheel.title, bytes(content))))
    assert caught.value.first.code == "vendor/bad-wheel"


def test_a_wheel_without_metadata_and_a_link_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(FabricError):
        tuple(list_wheel_files(zipped({"one.py": b""})))
    (tmp_path / "one-1.0.dist-info").mkdir()
    (tmp_path / METADATA).write_text("Name: one\n")
    (tmp_path / "one.py").symlink_to("/etc/hosts")
    with pytest.raises(FabricError):
        tuple(list_wheel_files(UnpackedWheel("one-1.0", tmp_path)))


def unpacked(folder: Path) -> UnpackedWheel:
    write_wheel(folder / "index", "one")
    files = {"one-1.0.data/scripts/run": "1", "one-1.0.data/purelib/inner.py": "2"}
    add_to_wheels(folder / "index", "one", files)
    (path,) = (folder / "index/one").glob("*.whl")
    with zipfile.ZipFile(path) as bundle:
        bundle.extractall(folder / "one")
    return UnpackedWheel("one-1.0", folder / "one")


def remove_hashes(folder: Path) -> None:
    path = folder / "one-1.0.dist-info/RECORD"
    names = [line.partition(",")[0] for line in path.read_text().splitlines()]
    path.write_text("".join(f"{name},,\n" for name in names))


def replace_by_link(folder: Path) -> None:
    (folder / "one.py").rename(folder.parent / "moved")
    (folder / "one.py").symlink_to(folder.parent / "moved")


CHANGES: Mapping[str, Callable[[Path], object]] = {
    "edited": lambda folder: (folder / "one.py").write_text("x"),
    "edited inside of data": lambda folder: (folder / "one-1.0.data/purelib/inner.py").write_text(
        "x"
    ),
    "metadata edited": lambda folder: (folder / METADATA).write_text("x"),
    "added": lambda folder: (folder / "more.py").write_text("x"),
    "missing": lambda folder: (folder / "one.py").unlink(),
    "replaced by a link": replace_by_link,
    "no hashes": remove_hashes,
    "no record": lambda folder: (folder / "one-1.0.dist-info/RECORD").unlink(),
    "a record that is not text": lambda folder: (folder / "one-1.0.dist-info/RECORD").write_bytes(
        b"\xff"
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_wheel_with_other_files_does_not_match_its_record(
    change: Callable[[Path], object], tmp_path: Path
) -> None:
    wheel = unpacked(tmp_path)
    assert wheel.matches_record()
    change(wheel.folder)
    assert not wheel.matches_record()


def test_files_that_are_never_packed_do_not_count_for_a_record(tmp_path: Path) -> None:
    wheel = unpacked(tmp_path)
    (wheel.folder / "one-1.0.data/scripts/run").write_text("x")
    (wheel.folder / "one-1.0.dist-info/RECORD.jws").write_text("x")
    (wheel.folder / "__pycache__").mkdir()
    (wheel.folder / "__pycache__/one.cpython-312.pyc").write_bytes(b"x")
    assert wheel.matches_record()
