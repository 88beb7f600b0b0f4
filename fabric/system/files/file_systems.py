"""The type of a directory's file system, and its permissions and free space."""

import os
from pathlib import Path

# A write-ahead log needs memory that is shared between processes of one machine.
NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs lustre fuse.sshfs fuse.glusterfs".split()
)


def find_mount_type(folder: Path, table: str) -> str:
    """Return the type of the mount that contains a directory, from the text of a mount table."""
    real = os.path.realpath(folder)
    best, kind = "", ""
    for line in table.splitlines():
        fields = line.split()
        if len(fields) > 2 and _is_below_mount(fields[1], real) and len(fields[1]) >= len(best):  # noqa: PLR2004
            best, kind = fields[1], fields[2]
    return kind


def is_network(folder: Path) -> bool:
    try:
        table = Path("/proc/self/mounts").read_text()
    except OSError:
        return False
    return find_mount_type(folder, table) in NETWORK


def find_nearest_existing(path: Path) -> Path:
    """Return the path itself, or its nearest existing parent."""
    return next(one for one in (path, *path.parents) if one.exists())


def is_writable(folder: Path) -> bool:
    """Return whether this process can create files in a directory, or the directory itself."""
    found = find_nearest_existing(folder)
    return found.is_dir() and os.access(found, os.W_OK | os.X_OK)


def is_private(folder: Path) -> bool:
    """Return whether a directory is private to its owner; a missing one will be created so."""
    return not folder.is_dir() or not folder.stat().st_mode & 0o077


def free_bytes(folder: Path) -> int:
    """Return the free bytes for an ordinary user at a present or future directory."""
    found = os.statvfs(find_nearest_existing(folder))
    return found.f_bavail * found.f_frsize


def is_same_disk(one: Path, other: Path) -> bool:
    """Return whether deleting in one place frees space in the other."""
    return find_nearest_existing(one).stat().st_dev == find_nearest_existing(other).stat().st_dev


def _is_below_mount(mount: str, path: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")
