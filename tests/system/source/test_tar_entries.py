"""A tar.gz read in one pass."""

import gzip
import io
import tarfile
from collections.abc import Iterator

import pytest

from fabric.system.source.entries import Refused, UnpackLimits
from fabric.system.source.tar_entries import Stream, read_tar_entries

LONG = "/".join(["directory"] * 20) + "/name.txt"


def member(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, **more: object) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    for key, value in more.items():
        setattr(info, key, value)
    return info.tobuf(tarfile.PAX_FORMAT)


def packed(*blocks: bytes) -> io.BytesIO:
    return io.BytesIO(gzip.compress(b"".join(blocks) + bytes(1024)))


def read(file: io.BytesIO) -> list[tuple[str, bytes]]:
    entries = read_tar_entries(file, UnpackLimits(size=100_000, entries=10))
    return [(one.name, b"".join(one.content)) for one in entries]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_files_of_every_common_form_are_read(form: int) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz", format=form) as archive:
        for name in ("a.txt", "ü.txt" if form != tarfile.USTAR_FORMAT else "u.txt"):
            info = tarfile.TarInfo(name)
            info.size = 600
            archive.addfile(info, io.BytesIO(name[:1].encode()[:1] * 600))
    content.seek(0)
    assert [(name, len(body)) for name, body in read(content)] == [
        ("a.txt", 600),
        ("u.txt" if form == tarfile.USTAR_FORMAT else "ü.txt", 600),
    ]


def test_a_long_name_is_read_from_its_extra_header() -> None:
    assert read(packed(member(LONG))) == [(LONG, b"")]


def test_unread_content_is_skipped() -> None:
    file = packed(member("a", 3), b"abc".ljust(512, b"\0"), member("b"))
    names = [one.name for one in read_tar_entries(file, UnpackLimits())]
    assert names == ["a", "b"]


def test_only_the_bit_of_the_owner_makes_a_file_executable() -> None:
    file = packed(member("run", mode=0o755), member("read", mode=0o655), member("d/", mode=0o755))
    found = [
        (one.name, one.is_executable, one.is_folder)
        for one in read_tar_entries(file, UnpackLimits())
    ]
    assert found == [("run", True, False), ("read", False, False), ("d/", True, True)]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (tarfile.LNKTYPE, "is a hard link"),
        (tarfile.SYMTYPE, "is a symbolic link"),
        (tarfile.CHRTYPE, "is a device"),
        (tarfile.BLKTYPE, "is a device"),
        (tarfile.FIFOTYPE, "is a named pipe"),
        (b"Z", "is neither a file nor a directory"),
    ],
)
def test_anything_but_files_and_directories_is_refused(kind: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        read(packed(member("a", kind=kind)))


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (packed(b"\1" + member("a")[1:]), "is damaged: wrong header checksum"),
        (packed(member("a"), bytes(512), member("b")), "has data after its end"),
        (io.BytesIO(gzip.compress(member("a", 600))), "ends early"),
        (packed(member("d/", 3), b"abc".ljust(512, b"\0")), "is a directory with content"),
        (packed(member("a", 200_000), bytes(200_192)), "exceeds .* bytes when unpacked"),
        (
            packed(member("g", 11, tarfile.XGLTYPE), b"11 path=ab\n".ljust(512, b"\0")),
            "has a global header with a name or a size",
        ),
        (
            packed(member("x", 11, tarfile.XHDTYPE), b"99 path=ab\n".ljust(512, b"\0")),
            "is damaged: invalid header",
        ),
        (
            packed(member("x", 11, tarfile.XHDTYPE), b" 9 path=ab\n".ljust(512, b"\0")),
            "is damaged: invalid header",
        ),
        (packed(member("x", 1 << 17, tarfile.XHDTYPE)), "has a name that is too long"),
    ],
)
def test_a_damaged_archive_is_refused(file: io.BytesIO, why: str) -> None:
    with pytest.raises(Refused, match=why):
        read(file)


def chunks() -> Iterator[bytes]:
    yield from (b"ab", b"", b"cdef", b"gh")


def test_chunks_of_any_size_are_taken_in_the_sizes_of_the_format() -> None:
    stream = Stream(chunks(), 8)
    assert stream.take(3) == b"abc"
    assert b"".join(stream.pieces(2, 4)) == b"de"
    assert stream.take(1) == b"h"
    with pytest.raises(Refused, match="ends early"):
        stream.take(1)
