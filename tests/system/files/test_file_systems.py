"""Which mount holds a folder, by the text of a mount table."""

from pathlib import Path

from fabric.system.files.file_systems import NETWORK, find_mount_type

TABLE = """\
/dev/vda / ext4 rw 0 0
server:/home /mnt/home nfs4 rw 0 0
tmpfs /mnt/home/fast tmpfs rw 0 0
"""


def test_the_deepest_mount_that_holds_a_folder_counts() -> None:
    assert find_mount_type(Path("/srv/project"), TABLE) == "ext4"
    assert find_mount_type(Path("/mnt/home/me"), TABLE) == "nfs4"
    assert find_mount_type(Path("/mnt/home/fast/x"), TABLE) == "tmpfs"
    assert find_mount_type(Path("/mnt/homework"), TABLE) == "ext4"


def test_network_file_systems_are_known() -> None:
    assert {"nfs", "nfs4", "cifs"} <= NETWORK
    assert not {"ext4", "xfs", "tmpfs"} & NETWORK
