"""What kind of file system a folder lies on, and what may be done there."""

import os
from pathlib import Path

# A write-ahead log needs memory that is shared between processes of one machine.
NETWORK = frozenset(
    "nfs nfs4 cifs smb3 smbfs 9p afs ceph glusterfs lustre fuse.sshfs fuse.glusterfs".split()
)


def kind_of(folder: Path, table: str) -> str:
    """The type of the mount that holds a folder, by the text of a mount table."""
    real = os.path.realpath(folder)
    best, kind = "", ""
    for line in table.splitlines():
        fields = line.split()
        if len(fields) > 2 and _holds(fields[1], real) and len(fields[1]) >= len(best):  # noqa: PLR2004
            best, kind = fields[1], fields[2]
    return kind


def is_network(folder: Path) -> bool:
    try:
        table = Path("/proc/self/mounts").read_text()
    except OSError:
        return False
    return kind_of(folder, table) in NETWORK


def nearest_existing(path: Path) -> Path:
    """The path itself, or the folder above it in which it would be made."""
    return next(one for one in (path, *path.parents) if one.exists())


def can_write(folder: Path) -> bool:
    """Whether this process may make things in a folder, or the folder itself."""
    found = nearest_existing(folder)
    return found.is_dir() and os.access(found, os.W_OK | os.X_OK)


def is_private(folder: Path) -> bool:
    """Whether only its owner gets into a folder; one that is not there yet will be made so."""
    return not folder.is_dir() or not folder.stat().st_mode & 0o077


def free_bytes(folder: Path) -> int:
    """What an ordinary user may still write where a folder is, or would be."""
    found = os.statvfs(nearest_existing(folder))
    return found.f_bavail * found.f_frsize


def same_disk(one: Path, other: Path) -> bool:
    """Whether what goes in one place makes room in the other."""
    return nearest_existing(one).stat().st_dev == nearest_existing(other).stat().st_dev


def _holds(mount: str, path: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")
