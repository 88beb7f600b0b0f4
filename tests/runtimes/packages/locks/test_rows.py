"""The wheel of a row that the target installs."""

import pytest

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError
from fabric.runtimes.packages.locks.rows import (
    LockFile,
    LockRow,
    find_wheel_version,
    rank_wheel_tags,
    read_digest,
    select_packages,
)
from tests.support.lock_texts import ARM, INTEL, OLD

ANY = "a-1.0-py3-none-any.whl"
ABI3 = "a-1.0-cp39-abi3-manylinux_2_17_x86_64.whl"
OWN = "a-1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
NEW = "a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
BUILD = "a-1.0-2-cp312-cp312-manylinux_2_28_x86_64.whl"
WRONG = ("a-1.0.tar.gz", "a-1.0-cp312-cp312-macosx_11_0_arm64.whl", "a-1.0-cp312-cp312-win32.whl")


def chosen(*files: str, target: PythonTarget = INTEL, digest: str = "") -> str:
    row = LockRow(name="a", version="1.0", wheels={one: digest or one for one in files})
    lock = LockFile(name="uv.lock", text="", document={}, target=target)
    (pin,) = select_packages([row], lock).pins
    return pin.hashes[0]


@pytest.mark.parametrize(
    ("files", "target", "expected"),
    [
        ((ANY,), INTEL, ANY),
        ((ANY, ABI3), INTEL, ABI3),
        ((ANY, ABI3, OWN), INTEL, OWN),
        ((OWN, NEW, ABI3), INTEL, NEW),
        ((NEW, BUILD), INTEL, BUILD),
        ((NEW, ABI3), OLD, ABI3),
        ((OWN, ANY), ARM, ANY),
        ((*WRONG, ANY), INTEL, ANY),
    ],
)
def test_the_best_wheel_for_the_target_is_chosen(
    files: tuple[str, ...], target: PythonTarget, expected: str
) -> None:
    assert chosen(*files, target=target) == expected


def test_all_packages_without_a_wheel_are_reported_with_the_lock() -> None:
    rows = [
        LockRow(name=one, version="1.0", wheels={NEW.replace("a-", f"{one}-", 1): "0"})
        for one in ("b", "a")
    ]
    text = 'x\nname = "b"\n'
    lock = LockFile(name="uv.lock", text=text, document={}, target=OLD)
    with pytest.raises(FabricError) as caught:
        select_packages(rows, lock)
    assert [one.code for one in caught.value.problems] == ["vendor/no-wheel"] * 2
    assert [str(one.where) for one in caught.value.problems] == ["uv.lock", "uv.lock:2"]


def test_a_wheel_without_a_hash_is_refused() -> None:
    lock = LockFile(name="uv.lock", text="", document={}, target=INTEL)
    with pytest.raises(FabricError) as caught:
        select_packages([LockRow(name="a", version="1.0", wheels={ANY: ""})], lock)
    assert caught.value.first.code == "vendor/hash-missing"


@pytest.mark.parametrize("target", [INTEL, ARM, OLD], ids=lambda one: one.title)
def test_wheel_tags_have_the_order_of_pip(target: PythonTarget) -> None:
    supported = pytest.importorskip("pip._internal.utils.compatibility_tags").get_supported
    version = target.python.replace(".", "")
    tags = supported(version=version, platforms=list(target.platforms), impl="cp")
    assert list(map(str, rank_wheel_tags(target))) == list(map(str, tags))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (LockRow(name="a", version="1.0\nb==1.0", wheels={ANY: "0"}), "invalid version"),
        (LockRow(name="a", wheels={"a.zip": "0"}), "no version of `a`"),
        (LockRow(name="a b", version="1.0", wheels={ANY: "0"}), "invalid package name"),
        (LockRow(name="b", version="1.0", wheels={ANY: "0"}), "is not a wheel of `b`"),
        (LockRow(name="a", version="2.0", wheels={ANY: "0"}), "is not a wheel of `a`"),
    ],
)
def test_values_that_pip_would_read_otherwise_are_refused(row: LockRow, words: str) -> None:
    lock = LockFile(name="uv.lock", text="", document={}, target=INTEL)
    with pytest.raises(FabricError) as caught:
        select_packages([row], lock)
    assert caught.value.first.code == "input/bad-lock"
    assert words in caught.value.first.message
    assert caught.value.first.hint == "run: uv lock"


@pytest.mark.parametrize("value", ["sha256:abc --index-url x", "sha512:" + "0" * 64, ""])
def test_only_a_hash_is_a_hash(value: str) -> None:
    assert read_digest(value) == ""


def test_a_row_without_a_version_has_that_of_its_wheel() -> None:
    assert find_wheel_version(["a.tar.gz", ANY]) == "1.0"
