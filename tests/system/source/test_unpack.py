"""Archives of strangers: good ones come out whole, hostile ones leave nothing anywhere."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.system.source.entries import UnpackLimits
from fabric.system.source.unpack import find_shallowest_config, unpack
from tests.support.archives import (
    DEFLATED,
    FOLDER,
    LINK,
    PIPE,
    STORED,
    Zipped,
    deflated,
    pax,
    pax_record,
    tar_entry,
    tar_of,
    zip_end,
    zip_of,
)

SMALL = UnpackLimits(size=100_000, entries=20, file=50_000)
FILES = {
    "fabric.yml": b"service: shop\n",
    "src/run.sh": b"echo\n",
    "src/ä b.txt": b"",
    "big": b"x" * 200_000,
}


def refused(content: bytes, folder: Path, limits: UnpackLimits = SMALL) -> Problem:
    """Refused with a problem, and not a trace of it."""
    inside = folder / "inside"
    inside.mkdir()
    archive = inside / "archive"
    archive.write_bytes(content)
    with pytest.raises(FabricError) as caught:
        unpack(archive, inside / "out", limits)
    assert [path.name for path in folder.rglob("*")] == ["inside", "archive"]
    assert caught.value.first.code == "input/bad-archive"
    assert caught.value.exit_code is ExitCode.INVALID
    return caught.value.first


def good(content: bytes, folder: Path) -> dict[str, bytes]:
    (folder / "archive").write_bytes(content)
    unpack(folder / "archive", folder / "out")
    return {
        path.relative_to(folder / "out").as_posix(): path.read_bytes()
        for path in (folder / "out").rglob("*")
        if path.is_file()
    }


def plain_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.mkdir("src")
        for name, content in FILES.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100777 if name.endswith(".sh") else 0o100600) << 16
            bundle.writestr(entry, content)
    return buffer.getvalue()


def plain_tar(form: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=form) as bundle:
        folder = tarfile.TarInfo("./src")
        folder.type = tarfile.DIRTYPE
        bundle.addfile(folder)
        for name, content in FILES.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(content)
            entry.mode = 0o777 if name.endswith(".sh") else 0o600
            bundle.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


GOOD = {
    "zip": plain_zip(),
    "gnu-tar": plain_tar(tarfile.GNU_FORMAT),
    "pax-tar": plain_tar(tarfile.PAX_FORMAT),
    "ustar": plain_tar(tarfile.USTAR_FORMAT),
}


@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
def test_a_good_archive_comes_out_whole(content: bytes, tmp_path: Path) -> None:
    assert good(content, tmp_path) == FILES
    modes = {
        name: stat.S_IMODE((tmp_path / "out" / name).stat().st_mode)
        for name in ("", "fabric.yml", "src/run.sh")
    }
    mask = os.umask(0o022)
    os.umask(mask)
    assert modes == {"": 0o700, "fabric.yml": 0o644 & ~mask, "src/run.sh": 0o755 & ~mask}


LONG = "/".join(["a" * 90] * 4)
LONG_NAMES = {
    "gnu": tar_of(tar_entry("././@LongLink", LONG.encode() + b"\0", b"L"), tar_entry("cut", b"x")),
    "pax": tar_of(pax(path=LONG), tar_entry("cut", b"x")),
    "prefix": tar_of(tar_entry(LONG[-90:], b"x", prefix=LONG[:-91][:155].encode())),
    "stored-zip": zip_of(Zipped(LONG, b"x", method=STORED)),
}


@pytest.mark.parametrize("kind", LONG_NAMES)
def test_long_names_are_understood(kind: str, tmp_path: Path) -> None:
    (name,) = good(LONG_NAMES[kind], tmp_path)
    assert LONG.endswith(name[-90:])
    assert len(name) > 180


EMPTY = {
    "zip": zip_of(),
    "tar": tar_of(),
    "git-comment": tar_of(pax(b"g", comment="0123abcd")),
    "top-folder": tar_of(tar_entry("./", kind=b"5")),
    "pax-time": tar_of(pax(mtime="1.5"), tar_entry("d/", kind=b"5")),
    "old-folder": tar_of(tar_entry("d/", kind=b"\0")),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_empty_archive_is_not_an_error(kind: str, tmp_path: Path) -> None:
    assert good(EMPTY[kind], tmp_path) == {}


NAMES = {
    "absolute": ("/etc/cron.d/x", "absolute"),
    "upwards": ("a/../../x", "points outside"),
    "only-upwards": ("..", "points outside"),
    "upwards-inside": ("a/../b", "points outside"),
    "drive": ("C:evil", "drive"),
    "backslash": ("a\\..\\x", "backslash"),
    "newline": ("a\nb", "control"),
    "escape": ("\x1b[2J", "control"),
    "delete": ("a\x7f", "control"),
    "long-part": ("x" * 256, "too long"),
    "long-path": ("/".join(["x" * 99] * 11), "too long"),
    "deep": ("/".join("x" * 65), "too deep"),
}


@pytest.mark.parametrize(("name", "why"), NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_name_that_may_lead_elsewhere_is_refused(
    kind: str, name: str, why: str, tmp_path: Path
) -> None:
    before = Zipped("first", b"1"), tar_entry("first", b"1")
    content = {
        "zip": zip_of(before[0], Zipped(name, b"x")),
        "tar": tar_of(before[1], pax(path=name), tar_entry("x", b"x")),
    }[kind]
    problem = refused(content, tmp_path)
    assert why in problem.message
    assert ascii(name)[1:40].rstrip("'") in problem.message


TWINS = {
    "same": ("a", "a", "duplicate entry"),
    "case": ("a/Readme", "a/README", "only in case"),
    "accents": ("caf\u00e9", "cafe\u0301", "only in case or accents"),
    "folder-case": ("A/x", "a/y", "only in case"),
    "file-then-folder": ("a", "a/b", "both a file and a directory"),
    "folder-then-file": ("a/b", "a", "both a file and a directory"),
    "dotted": ("a", "./a", "duplicate entry"),
}


@pytest.mark.parametrize(("one", "other", "why"), TWINS.values(), ids=TWINS)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_names_that_clash_are_refused(
    kind: str, one: str, other: str, why: str, tmp_path: Path
) -> None:
    content = {
        "zip": zip_of(Zipped(one, b"1"), Zipped(other, b"2")),
        "tar": tar_of(tar_entry(one, b"1"), tar_entry(other, b"2")),
    }[kind]
    assert why in refused(content, tmp_path).message


ONE = Zipped("a", b"aaaa")
PLAIN = zip_of(ONE)
KERNEL = deflated(b"\0" * 40_000)
ZIPS = {
    "link": (zip_of(Zipped("l", b"/etc/passwd", LINK)), "neither a file nor a directory"),
    "pipe": (zip_of(Zipped("p", b"", PIPE)), "neither a file nor a directory"),
    "folder-as-file": (zip_of(Zipped("f", b"", FOLDER)), "both a file and a directory"),
    "file-as-folder": (zip_of(Zipped("f/", b"")), "both a file and a directory"),
    "folder-with-content": (zip_of(Zipped("f/", b"x", maker=0)), "directory with content"),
    "no-name": (zip_of(Zipped("", b"x")), "has no name"),
    "nul": (zip_of(Zipped("a\0b", b"x")), "control"),
    "not-utf-8": (zip_of(Zipped(b"\xff", b"x")), "not UTF-8"),
    "encrypted": (zip_of(Zipped("a", b"x", flags=1)), "encrypted"),
    "masked": (zip_of(Zipped("a", b"x", flags=0x2000)), "encrypted"),
    "bzip2": (zip_of(Zipped("a", b"x", method=12)), "unsupported compression method (12)"),
    "wrong-checksum": (zip_of(Zipped("a", b"x", said_crc=1)), "damaged"),
    "said-smaller": (zip_of(Zipped("a", b"xx" * 50_000, said_size=3)), "damaged"),
    "said-larger": (zip_of(Zipped("a", b"xx", said_size=3)), "damaged"),
    "not-deflated": (zip_of(Zipped("a", b"x", raw=b"\xff\xff\xff")), "cannot be decompressed"),
    "cut-inside": (zip_of(Zipped("a", b"x" * 999, raw=deflated(b"x" * 999)[:-3])), "ends early"),
    "more-inside": (zip_of(Zipped("a", b"x", raw=deflated(b"x") + b"y")), "after its end"),
    "other-local-name": (
        zip_of(Zipped("a", b"x", local_name=b"b")),
        "does not match the directory",
    ),
    "zip64-size": (zip_of(Zipped("a", b"x", said_size=0xFFFF_FFFF)), "zip64"),
    "overlap": (zip_of(ONE, Zipped("b", b"b"), starts=(0, 0)), "does not match the directory"),
    "same-bytes": (zip_of(ONE, ONE, starts=(0, 0)), "shares bytes"),
    "quoted-overlap": (
        zip_of(
            Zipped("a", b"", raw=Zipped("b", raw=KERNEL).local(), method=STORED),
            Zipped("b", b"\0" * 40_000),
            starts=(0, 31),
        ),
        "shares bytes",
    ),
    "start-outside": (zip_of(ONE, starts=(9_000,)), "not at the offset"),
    "truncated": (PLAIN[:-1], "ends early"),
    "half": (PLAIN[: len(PLAIN) // 2], "ends early"),
    "only-magic": (b"PK", "ends early"),
    "trailing": (PLAIN + b"x", "after its end"),
    "leading": (b"PK" + b"x" * 9 + PLAIN, "does not match its end record"),
    "two-archives": (PLAIN + PLAIN, "does not match its end record"),
    "count-too-large": (PLAIN[:-22] + zip_end(2, 47, 37), "damaged directory"),
    "count-too-small": (zip_of(ONE, Zipped("b"))[:-22] + zip_end(1, 94, 70), "its end record"),
    "damaged-row": (PLAIN.replace(b"PK\x01\x02", b"PK\x01\x03"), "damaged directory"),
    "too-many": (zip_of(*(Zipped(f"{n}") for n in range(21))), "more than 20 entries"),
    "too-many-folders": (zip_of(Zipped("/".join("x" * 30))), "more than 20 entries"),
    "too-large-file": (zip_of(Zipped("a", b"\0" * 50_001)), "is too large"),
    "too-large-together": (
        zip_of(*(Zipped(f"{n}", b"\0" * 40_000) for n in range(3))),
        "is too large",
    ),
}


@pytest.mark.parametrize(("content", "why"), ZIPS.values(), ids=ZIPS)
def test_a_hostile_zip_is_refused(content: bytes, why: str, tmp_path: Path) -> None:
    assert why in refused(content, tmp_path).message


@pytest.mark.timeout(20)
@pytest.mark.parametrize("size", [65_536, 131_072, 200_000])
def test_bytes_behind_a_long_content_are_refused(size: int, tmp_path: Path) -> None:
    content = bytes(size)
    entry = Zipped("a", content, raw=deflated(content) + b"more")
    assert "after its end" in refused(zip_of(entry), tmp_path, UnpackLimits()).message


A = tar_entry("a", b"aaaa")
TARS = {
    "hard-link": (tar_of(tar_entry("l", kind=b"1")), "hard link"),
    "symbolic-link": (tar_of(tar_entry("l", kind=b"2")), "symbolic link"),
    "write-through-link": (
        tar_of(tar_entry("l", kind=b"2"), tar_entry("l/x", b"x")),
        "symbolic link",
    ),
    "character-device": (tar_of(tar_entry("d", kind=b"3")), "device"),
    "block-device": (tar_of(tar_entry("d", kind=b"4")), "device"),
    "pipe": (tar_of(tar_entry("p", kind=b"6")), "named pipe"),
    "sparse": (tar_of(tar_entry("s", kind=b"S")), "neither a file nor a directory"),
    "pax-sparse": (tar_of(pax(b"x", **{"GNU.sparse.major": "1"}), A), "sparse"),
    "unknown-kind": (tar_of(tar_entry("u", kind=b"Z")), "neither a file nor a directory"),
    "folder-with-content": (tar_of(tar_entry("d/", b"x", b"5")), "directory with content"),
    "no-name": (tar_of(tar_entry("", b"x")), "has no name"),
    "nul": (tar_of(tar_entry(b"a\0b", b"x")), "NUL"),
    "pax-nul": (tar_of(pax(path="a\0b"), A), "NUL"),
    "not-utf-8": (tar_of(tar_entry(b"\xff", b"x")), "not UTF-8"),
    "prefix-upwards": (tar_of(tar_entry("x", b"x", prefix=b"..")), "points outside"),
    "long-link-upwards": (tar_of(tar_entry("L", b"../x\0", b"L"), A), "points outside"),
    "name-for-all": (tar_of(pax(b"g", path="x"), A), "global header"),
    "endless-name": (tar_of(tar_entry("L", b"x" * 70_000, b"L"), A), "too long"),
    "wrong-sum": (tar_of(tar_entry("a", sum=1)), "checksum"),
    "size-no-number": (tar_of(tar_entry("a", size=b"zzz")), "number"),
    "size-negative": (tar_of(tar_entry("a", size=b"\xff" * 12)), "number"),
    "size-enormous": (tar_of(tar_entry("a", size=b"\x80" + b"\x7f" * 11)), "ends early"),
    "pax-size-lies": (tar_of(pax(size="9999"), A), "ends early"),
    "pax-garbage": (tar_of(tar_entry("p", b"garbage", b"x"), A), "invalid header"),
    "pax-length": (tar_of(tar_entry("p", b"0 a=b\n", b"x"), A), "invalid header"),
    "pax-torn": (tar_of(tar_entry("p", pax_record("a", "b")[:-1], b"x"), A), "invalid header"),
    "no-end": (gzip.compress(A), "ends early"),
    "half": (gzip.compress(A[:700]), "ends early"),
    "after-the-end": (gzip.compress(A + bytes(1024) + b"x"), "after its end"),
    "not-gzip": (b"\x1f\x8b" + b"x" * 99, "cannot be decompressed"),
    "cut-gzip": (tar_of(A)[:-4], "ends early"),
    "wrong-crc": (tar_of(A)[:-8] + bytes(8), "cannot be decompressed"),
    "two-members": (tar_of(A) + tar_of(A), "after its end"),
    "too-many": (tar_of(*(tar_entry(f"{n}") for n in range(21))), "more than 20 entries"),
    "too-large-file": (tar_of(tar_entry("a", bytes(50_001))), "is too large"),
    "too-large-together": (
        tar_of(*(tar_entry(f"{n}", bytes(40_000)) for n in range(3))),
        "is too large",
    ),
    "bomb-after-the-end": (gzip.compress(A + bytes(10_000_000)), "exceeds"),
    "bomb-of-headers": (tar_of(*[pax(comment="x" * 9_000)] * 30, A), "exceeds"),
}


@pytest.mark.parametrize(("content", "why"), TARS.values(), ids=TARS)
def test_a_hostile_tar_is_refused(content: bytes, why: str, tmp_path: Path) -> None:
    assert why in refused(content, tmp_path).message


OTHERS = {
    "empty": b"",
    "text": b"service: shop\n",
    "plain-tar": A + bytes(1024),
    "7z": b"7z\xbc\xaf",
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS)
def test_non_archive_files_are_refused(content: bytes, tmp_path: Path) -> None:
    assert "neither a zip nor a tar.gz" in refused(content, tmp_path).message


def test_a_folder_that_is_there_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "archive").write_bytes(PLAIN)
    with pytest.raises(FabricError) as caught:
        unpack(tmp_path / "archive", tmp_path / "out")
    assert caught.value.exit_code is ExitCode.CANNOT_WRITE
    assert list((tmp_path / "out").iterdir()) == []


CONFIGS = {
    "top": (("fabric.yml", "a/fabric.yml"), "fabric.yml"),
    "one-down": (("z/fabric.yml", "a/b/fabric.yml"), "z/fabric.yml"),
    "by-name": (("b/fabric.yml", "a/fabric.yml"), "a/fabric.yml"),
}


@pytest.mark.parametrize(("names", "chosen"), CONFIGS.values(), ids=CONFIGS)
def test_the_config_nearest_to_the_top_counts(
    names: tuple[str, ...], chosen: str, tmp_path: Path
) -> None:
    good(zip_of(*(Zipped(name, b"", method=DEFLATED) for name in names)), tmp_path)
    assert find_shallowest_config(tmp_path / "out") == tmp_path / "out" / chosen


def test_a_source_without_a_config_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "fabric.yml").mkdir()
    with pytest.raises(FabricError) as caught:
        find_shallowest_config(tmp_path)
    assert caught.value.first.code == "input/no-config"
