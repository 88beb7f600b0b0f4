"""Entries of an untrusted archive: values, limits and the rejection error."""

from collections.abc import Iterable
from typing import NoReturn

from msgspec import Struct


class UnpackLimits(Struct, frozen=True):
    """Limits: `size` of all unpacked bytes, `file` of one file, `entries` including directories."""

    size: int = 1_000_000_000
    entries: int = 50_000
    file: int = 100_000_000


class ArchiveEntry(Struct, frozen=True):
    """One file or directory."""

    name: str
    is_folder: bool
    is_executable: bool = False
    # Must be read to its end before the next entry.
    content: Iterable[bytes] = ()


class Refused(Exception):  # noqa: N818 - it is the archive that is refused
    """The archive is rejected; `entry` is the name of the invalid entry, if there is one."""

    def __init__(self, why: str, entry: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.entry = entry


def refuse(why: str, entry: str = "") -> NoReturn:
    raise Refused(why, entry)


def decode_name(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        refuse("has a name that is not UTF-8", name.decode(errors="replace"))
