"""Decompress bytes in bounded pieces; data after the end is an error."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

from fabric.system.source.entries import refuse

_CHUNK = 1 << 16
_GZIP = zlib.MAX_WBITS | 16
_RAW = -zlib.MAX_WBITS


def decompress_gzip(file: BinaryIO) -> Iterator[bytes]:
    return _decompress(iter(lambda: file.read(_CHUNK), b""), _GZIP, "")


def decompress_zip_entry(raw: Iterator[bytes], entry: str) -> Iterator[bytes]:
    """Decompress the bytes of a zip entry."""
    return _decompress(raw, _RAW, entry)


def _decompress(raw: Iterator[bytes], kind: int, entry: str) -> Iterator[bytes]:
    inflater = zlib.decompressobj(kind)
    try:
        for chunk in raw:
            if inflater.eof:
                refuse("has data after its end", entry)
            yield inflater.decompress(chunk, _CHUNK)
            # Past its end an inflater keeps a tail that it never takes.
            while inflater.unconsumed_tail and not inflater.eof:
                yield inflater.decompress(inflater.unconsumed_tail, _CHUNK)
        while not inflater.eof and (last := inflater.decompress(b"", _CHUNK)):
            yield last
    except zlib.error:
        refuse("is damaged: it cannot be decompressed", entry)
    if not inflater.eof:
        refuse("ends early", entry)
    if inflater.unused_data:
        refuse("has data after its end", entry)
