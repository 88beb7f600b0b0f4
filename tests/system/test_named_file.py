"""What a user names may be no file at all."""

import os
import threading
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.files.new_files import write_named


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_named(pipe, b"told")
    reader.join()
    assert (read, pipe.is_fifo()) == ([b"told"], True)


def test_full_device_is_reported_and_not_replaced(tmp_path: Path) -> None:
    device = tmp_path / "full"
    device.symlink_to("/dev/full")
    with pytest.raises(FabricError) as caught:
        write_named(device, b"told")
    assert caught.value.first.code == "disk/full"
    assert Path("/dev/full").is_char_device()


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    write_named(path, b"after", mode=0o600)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"after", 0o600)
