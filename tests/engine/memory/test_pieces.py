"""A file of pieces is read as it was written, and anything else is none."""

import os
from pathlib import Path

import pytest

from fabric.engine.memory.pieces import open_pieces, write_pieces
from tests.support.seals import SEAL

PIECES = [b"one", b"", b"three"]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "pieces"
    write_pieces(str(path), SEAL, b"s" * 16, PIECES)
    return path


def test_pieces_come_back_as_they_were_written(written: Path) -> None:
    found = open_pieces(str(written), SEAL)
    assert found is not None
    assert [found.read(number) for number in range(len(found))] == PIECES


def test_invalid_pieces_file_is_not_opened(written: Path, tmp_path: Path) -> None:
    whole = written.read_bytes()
    for content in (b"", b"short", whole[1:], whole[:-9] + bytes(9), whole + b"more"):
        written.write_bytes(content)
        assert open_pieces(str(written), SEAL) is None
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "nothing"):
        assert open_pieces(str(path), SEAL) is None
