"""What kind of file system a folder lies on."""

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


def _holds(mount: str, path: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")
