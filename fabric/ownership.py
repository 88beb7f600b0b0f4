"""Whose files these are: what lies above a project counts only if nobody else may write there.

Built-ins only: stage 0 asks this before anything is imported.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = ".fabric"
_GROUP_WRITES = 0o020
_OTHERS_WRITE = 0o002
_STICKY = 0o1000
_GROUPS = "/etc/group"
_USERS = "/etc/passwd"
_NAME, _NUMBER, _MEMBERS = 0, 2, 3  # fields of a line of /etc/group; a user's group is field 3 too


def is_ours(path: str) -> bool:
    """Whether a file or folder is there, belongs to us or to root, and nobody else may write it."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return has_our_stat(found)


def has_our_stat(found: os.stat_result) -> bool:
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & _OTHERS_WRITE:
        return False
    return not found.st_mode & _GROUP_WRITES or _is_private_group(found.st_gid)


def reach(folder: str) -> Iterator[str]:
    """A folder and those above it, as far as files there may be ours: each on the way up is ours,
    and on one file system. The first is where somebody chose to work: whoever owns it."""
    yield folder
    device = _device(folder)
    while folder != "/" and is_ours(folder):
        folder = folder.rpartition("/")[0] or "/"
        if _device(folder) != device or not is_ours(folder):
            return
        yield folder


def nearest_own(folder: str) -> str:
    """The nearest `.fabric` upwards; empty where there is none, or where it is not ours."""
    for above in reach(folder):
        own = f"{above}/{OWN}" if above != "/" else f"/{OWN}"
        if os.path.lexists(own):
            return own if is_ours(own) else ""
    return ""


def is_safe_place(folder: str) -> bool:
    """Whether nobody else can put something in the place of a folder: it and all above it, as far
    as they are there, are ours; of a folder for everybody it is enough that names in it last."""
    path = os.path.realpath(folder)
    if os.path.exists(path) and not is_ours(path):
        return False
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        if os.path.exists(path) and not (is_ours(path) or _keeps_names(path)):
            return False
    return True


def _keeps_names(folder: str) -> bool:
    """Like /tmp: all may make files, and only their owners may rename or remove them."""
    found = os.stat(folder)
    return found.st_uid in (os.geteuid(), 0) and bool(found.st_mode & _STICKY)


def _device(folder: str) -> int:
    try:
        return os.stat(folder).st_dev
    except OSError:
        return -1


def _is_private_group(group: int) -> bool:
    """Many systems give each user a group of their own, and let it write by default."""
    user = str(os.geteuid())
    users = _rows(_USERS)
    names = {row[_NAME] for row in users if row[_NUMBER] == user}
    others = {row[_NAME] for row in users if row[_MEMBERS] == str(group)} - names
    found = [row for row in _rows(_GROUPS) if row[_NUMBER] == str(group)]
    members = {name for row in found for name in row[_MEMBERS].split(",") if name} - names
    return bool(found and names) and not others and not members


def _rows(path: str) -> list[list[str]]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            rows = [line.rstrip("\n").split(":") for line in file]
    except OSError:
        return []
    return [row for row in rows if len(row) > _MEMBERS]
