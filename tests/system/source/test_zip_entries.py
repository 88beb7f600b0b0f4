"""A zip file read strictly."""

import io
import itertools
import stat
import zipfile

import pytest

from fabric.system.source.entries import Refused, UnpackLimits
from fabric.system.source.zip_entries import zip_entries

CONTENT = b"content " * 100


def packed(
    *names: str, method: int = zipfile.ZIP_DEFLATED, mode: int = stat.S_IFREG | 0o644
) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name in names:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, b"" if name.endswith("/") else CONTENT, method)
    return file.getvalue()


def read(content: bytes, entries: int = 10) -> list[tuple[str, bytes]]:
    found = zip_entries(io.BytesIO(content), UnpackLimits(entries=entries))
    return [(one.name, b"".join(one.content)) for one in found]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_stored_and_deflated_entries_are_read(method: int) -> None:
    assert read(packed("a.txt", "b/c.txt", method=method)) == [
        ("a.txt", CONTENT),
        ("b/c.txt", CONTENT),
    ]


def test_the_mode_of_an_entry_makes_it_executable() -> None:
    for mode, expected in ((0o755, True), (0o655, False)):
        content = packed("run", mode=stat.S_IFREG | mode)
        (entry,) = zip_entries(io.BytesIO(content), UnpackLimits())
        assert entry.is_executable is expected


def test_a_comment_at_the_end_belongs_to_the_file() -> None:
    file = io.BytesIO(packed("a"))
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"made by a tool"
    assert read(file.getvalue()) == [("a", CONTENT)]


ONE = packed("a", method=zipfile.ZIP_STORED)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "ends early"),
        (ONE[:-1], "ends early"),
        (ONE + b"x", "has data after its end"),
        (b"x" + ONE, "has a directory that does not match its end record"),
        (ONE.replace(CONTENT, b"x" * len(CONTENT)), "is damaged: wrong size or checksum"),
        (ONE.replace(b"a" + CONTENT, b"b" + CONTENT), "has a header that does not match"),
        (ONE.replace(b"PK\3\4", b"PK\3\5"), "is not at the offset in the directory"),
        (ONE.replace(b"PK\1\2", b"PK\1\3"), "has a damaged directory"),
        (packed("a", mode=stat.S_IFLNK | 0o777), "is neither a file nor a directory"),
        (packed("a", mode=stat.S_IFDIR | 0o755), "is both a file and a directory"),
        (packed("a/", mode=stat.S_IFREG | 0o644), "is both a file and a directory"),
        (packed("a", method=zipfile.ZIP_BZIP2), "has an unsupported compression method"),
        (packed("a", "b", "c"), "has more than 2 entries"),
    ],
    ids=itertools.count(),
)
def test_an_unusual_file_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        read(content, entries=2)


def test_entries_that_share_bytes_are_refused() -> None:
    """The second row of the directory is the first one again."""
    two = bytearray(packed("a", "b", method=zipfile.ZIP_STORED))
    second = two.rindex(b"PK\1\2")
    two[second + 42 : second + 47] = bytes(4) + b"a"
    with pytest.raises(Refused, match="shares bytes with another entry"):
        read(bytes(two))
