"""Raw writers of zip and tar files, which also write what no good tool would."""

import gzip
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

REGULAR, LINK, FOLDER, PIPE = 0o100644, 0o120777, 0o040755, 0o010644
STORED, DEFLATED = 0, 8


@dataclass(frozen=True)
class Zipped:
    """One entry; `said_size`, `said_crc` and `local_name` make its headers lie."""

    name: str | bytes
    content: bytes = b""
    mode: int = REGULAR
    method: int = DEFLATED
    flags: int = 0
    raw: bytes | None = None
    said_size: int | None = None
    said_crc: int | None = None
    local_name: bytes | None = None
    maker: int = 3

    @property
    def stored_name(self) -> bytes:
        return self.name if isinstance(self.name, bytes) else self.name.encode()

    @property
    def packed(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return deflated(self.content) if self.method == DEFLATED else self.content

    def fields(self) -> tuple[int, ...]:
        crc = zlib.crc32(self.content) if self.said_crc is None else self.said_crc
        size = len(self.content) if self.said_size is None else self.said_size
        return (20, self.flags, self.method, 0, 33, crc, len(self.packed), size)

    def local(self) -> bytes:
        name = self.stored_name if self.local_name is None else self.local_name
        head = struct.pack("<4s5H3L2H", b"PK\x03\x04", *self.fields(), len(name), 0)
        return head + name + self.packed

    def central(self, start: int) -> bytes:
        name = self.stored_name
        made = self.maker << 8 | 20
        rest = (len(name), 0, 0, 0, 0, self.mode << 16, start)
        return struct.pack("<4s6H3L5H2L", b"PK\x01\x02", made, *self.fields(), *rest) + name


def deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def zip_of(*entries: Zipped, starts: Sequence[int] = ()) -> bytes:
    """The entries one after the other; `starts` are other offsets for the directory to say."""
    body, offsets = b"", []
    for entry in entries:
        offsets.append(len(body))
        body += entry.local()
    rows = zip(entries, starts or offsets, strict=True)
    directory = b"".join(entry.central(start) for entry, start in rows)
    return body + directory + zip_end(len(entries), len(directory), len(body))


def zip_end(count: int, size: int, start: int) -> bytes:
    return struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, size, start, 0)


def tar_entry(name: str | bytes, content: bytes = b"", kind: bytes = b"0", **more: Any) -> bytes:
    """A header and its content. `size`, `mode`, `prefix`, `magic` and `sum` may be set."""
    stored = name if isinstance(name, bytes) else name.encode()
    size = more.get("size", b"%011o\0" % len(content))
    head = struct.pack(
        "<100s8s8s8s12s12s8s1s100s8s32s32s8s8s155s12x",
        stored,
        b"%07o\0" % more.get("mode", 0o644),
        b"%07o\0" % 0,
        b"%07o\0" % 0,
        size,
        b"%011o\0" % 0,
        b" " * 8,
        kind,
        b"/etc/passwd" if kind in (b"1", b"2") else b"",
        more.get("magic", b"ustar\x0000"),
        b"",
        b"",
        b"",
        b"",
        more.get("prefix", b""),
    )
    total = b"%06o\0 " % more.get("sum", sum(head))
    return head[:148] + total + head[156:] + content + bytes(-len(content) % 512)


def pax(kind: bytes = b"x", /, **records: str) -> bytes:
    return tar_entry("pax", b"".join(pax_record(*one) for one in records.items()), kind)


def pax_record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n".encode()
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def tar_of(*parts: bytes) -> bytes:
    return gzip.compress(b"".join(parts) + bytes(1024), 6, mtime=0)
