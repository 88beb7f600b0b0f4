"""What stands in an archive that somebody else made: values, limits, and the word for a no."""

from collections.abc import Iterable
from typing import NoReturn

from msgspec import Struct


class UnpackLimits(Struct, frozen=True):
    """`size` counts all bytes that come out, `file` those of one file, `entries` folders too."""

    size: int = 1_000_000_000
    entries: int = 50_000
    file: int = 100_000_000


class ArchiveEntry(Struct, frozen=True):
    """One file or folder. `content` is read to its end before the next entry is asked for."""

    name: str
    is_folder: bool
    is_executable: bool = False
    content: Iterable[bytes] = ()


class Refused(Exception):  # noqa: N818 - it is the archive that is refused
    """The archive is not taken; `entry` is the name of what was wrong in it, where there is one."""

    def __init__(self, why: str, entry: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.entry = entry


def refuse(why: str, entry: str = "") -> NoReturn:
    raise Refused(why, entry)


def text_of(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        refuse("has a name that is not UTF-8", name.decode(errors="replace"))
