"""A file of pieces is read as it was written, and anything else is none."""

import os
from pathlib import Path

import pytest

from fabric.engine.memory.pieces import DamagedPieceError, open_pieces, write_pieces
from tests.support.seals import OTHER_SEAL, SEAL

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


def test_damaged_piece_is_an_error_and_its_file_is_deleted(written: Path) -> None:
    found = open_pieces(str(written), SEAL)
    assert found is not None
    assert found.is_sound
    with written.open("r+b") as file:
        file.write(b"\xff")
    with pytest.raises(DamagedPieceError) as raised:
        found.read(0)
    assert raised.value.first.code == "cache/damaged"
    assert not written.exists()
    assert found.read(2) == b"three"
    assert not found.is_sound, "also without its file"


def test_file_of_another_key_or_user_is_not_opened(written: Path) -> None:
    assert open_pieces(str(written), OTHER_SEAL) is None
    written.chmod(0o666)
    assert open_pieces(str(written), SEAL) is None
