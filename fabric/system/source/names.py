"""Valid names in an archive: relative ones with the same meaning on any disk. No effects."""

import re
import unicodedata

from fabric.system.source.entries import Refused, refuse

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:")
_LONGEST_PART = 255
_LONGEST_PATH = 1024
_DEEPEST = 64


class Names:
    """The names so far. A directory can be repeated or implied; other names must be unique."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._taken: dict[str, tuple[str, bool]] = {}

    def admit(self, name: str, *, is_folder: bool) -> str:
        """Return the path to write, with forward slashes; empty for the root itself."""
        parts = split_checked(name)
        if not parts and not is_folder:
            refuse("has no name", name)
        for depth in range(1, len(parts)):
            self._take(name, "/".join(parts[:depth]), is_folder=True)
        path = "/".join(parts)
        if parts:
            self._take(name, path, is_folder=is_folder)
        return path

    def _take(self, name: str, path: str, *, is_folder: bool) -> None:
        key = _fold_case(path)
        if key not in self._taken:
            self._taken[key] = (path, is_folder)
            if len(self._taken) > self._entries:
                refuse(f"has more than {self._entries:,} entries")
            return
        spelled, was_folder = self._taken[key]
        if spelled != path:
            refuse("differs from another name only in case or accents", name)
        if was_folder != is_folder:
            refuse("is both a file and a directory", name)
        if not is_folder:
            refuse("is a duplicate entry", name)


def is_plain_name(name: str) -> bool:
    """Return whether `Names` would accept a name unchanged."""
    try:
        return "/".join(split_checked(name)) == name != ""
    except (Refused, UnicodeEncodeError):
        return False


def split_checked(name: str) -> tuple[str, ...]:
    """Return the parts of a name without `.`. Raises for parts that could point elsewhere."""
    if name.startswith("/"):
        refuse("has an absolute path", name)
    if _DRIVE.match(name):
        refuse("starts with a drive letter", name)
    if "\\" in name:
        refuse("has a backslash in its name", name)
    if _CONTROL.search(name):
        refuse("has a control character in its name", name)
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        refuse("points outside the archive", name)
    if _is_too_long(name, parts):
        refuse("has a name that is too long or too deep", name)
    return parts


def _is_too_long(name: str, parts: tuple[str, ...]) -> bool:
    return (
        len(name.encode()) > _LONGEST_PATH
        or len(parts) > _DEEPEST
        or any(len(part.encode()) > _LONGEST_PART for part in parts)
    )


def _fold_case(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
