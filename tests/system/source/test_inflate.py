"""Compressed bytes: whole, and nothing after their end."""

import gzip
import io
import zlib

import pytest

from fabric.system.source.entries import Refused
from fabric.system.source.inflate import decompress_gzip, decompress_zip_entry

CONTENT = b"content " * 40_000
PACKED = gzip.compress(CONTENT, mtime=0)


def test_content_is_decompressed_in_bounded_pieces() -> None:
    bomb = gzip.compress(bytes(1 << 20))
    pieces = list(decompress_gzip(io.BytesIO(bomb)))
    assert b"".join(pieces) == bytes(1 << 20)
    assert max(map(len, pieces)) <= 1 << 16


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (PACKED[:-1], "ends early"),
        (b"", "ends early"),
        (PACKED + b"x", "has data after its end"),
        (PACKED + PACKED, "has data after its end"),
        (PACKED[:-8] + bytes(8), "is damaged: it cannot be decompressed"),
        (b"plain text", "is damaged: it cannot be decompressed"),
    ],
    ids=["cut off", "empty", "longer", "twice", "wrong checksum", "not compressed"],
)
def test_bytes_that_are_not_one_whole_stream_are_refused(packed: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        list(decompress_gzip(io.BytesIO(packed)))


def test_an_entry_of_a_zip_file_has_no_header_and_is_named_in_the_error() -> None:
    raw = zlib.compress(CONTENT)[2:-4]
    assert b"".join(decompress_zip_entry(iter([raw[:9], raw[9:]]), "a.txt")) == CONTENT
    with pytest.raises(Refused) as caught:
        list(decompress_zip_entry(iter([raw, b"more"]), "a.txt"))
    assert (caught.value.why, caught.value.entry) == ("has data after its end", "a.txt")
