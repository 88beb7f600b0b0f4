"""Contents by hash: verified on every use, from this machine or another one."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fabric.engine.memory.blobs import PREFIX, SMALL, Blobs
from fabric.engine.memory.disk_memo import DiskMemo
from fabric.engine.memory.memo import NoMemo
from fabric.model.hashing import hash_bytes
from fabric.model.names import Digest
from tests.support.seals import SEAL

LARGE = b"x" * (SMALL + 1)


class Others:
    """Contents of other machines; each is fetched once."""

    def __init__(self, *contents: bytes, **wrong: bytes) -> None:
        self.contents = {str(hash_bytes(one)): one for one in contents} | wrong
        self.fetched: list[str] = []

    def has(self, digest: Digest, size: int) -> bool:
        return len(self.contents.get(digest, b"")) == size

    def content(self, digest: Digest) -> bytes | None:
        self.fetched.append(digest)
        return self.contents.get(digest)


@pytest.fixture
def memo(tmp_path: Path) -> Iterator[DiskMemo]:
    with closing(DiskMemo(tmp_path / "memo", SEAL)) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.mark.parametrize("content", [b"", b"small", LARGE], ids=["empty", "small", "large"])
def test_content_is_available_to_the_next_command(
    memo: DiskMemo, folder: Path, content: bytes
) -> None:
    blobs = Blobs(folder, memo)
    digest = blobs.put(content)
    assert blobs.get(digest) == content
    blobs.flush()
    again = Blobs(folder, memo)
    assert again.has(digest, len(content))
    assert again.get(digest) == content
    again.drop(digest)
    assert not again.has(digest, len(content))
    assert again.get(digest) is None
    again.drop(digest)


def test_large_content_is_a_private_file_that_is_written_once(memo: DiskMemo, folder: Path) -> None:
    blobs = Blobs(folder, memo)
    digest = blobs.put(LARGE)
    path = Path(blobs.path(digest))
    assert path.stat().st_mode & 0o777 == 0o600
    inode = path.stat().st_ino
    Blobs(folder, memo).put(LARGE)
    assert path.stat().st_ino == inode
    path.write_bytes(b"other size")
    Blobs(folder, memo).put(LARGE)
    assert path.read_bytes() == LARGE


def test_damaged_content_is_deleted(memo: DiskMemo, folder: Path) -> None:
    blobs = Blobs(folder, memo)
    digest = blobs.put(LARGE)
    path = Path(blobs.path(digest))
    path.write_bytes(b"y" * len(LARGE))
    assert blobs.get(digest) is None
    assert not path.exists()
    small = hash_bytes(b"small")
    memo.put_all({PREFIX + small: b"other"})
    assert blobs.get(small) is None
    assert memo.get_bytes(PREFIX + small) is None


def test_content_of_another_machine_is_stored_here(memo: DiskMemo, folder: Path) -> None:
    others = Others(b"theirs")
    blobs = Blobs(folder, memo, others)
    digest = hash_bytes(b"theirs")
    assert blobs.has(digest, 6)
    assert others.fetched == [], "no content is fetched for a plan"
    assert not blobs.has(digest, 7)
    assert [blobs.get(digest), blobs.get(digest)] == [b"theirs"] * 2
    assert others.fetched == [digest]


def test_content_of_another_machine_is_verified(memo: DiskMemo, folder: Path) -> None:
    digest = hash_bytes(b"right")
    blobs = Blobs(folder, memo, Others(**{str(digest): b"wrong"}))
    assert blobs.get(digest) is None
    assert blobs.get(hash_bytes(b"nowhere")) is None


def test_without_a_directory_contents_last_for_the_run() -> None:
    blobs = Blobs(None, NoMemo())
    digest = blobs.put(LARGE)
    blobs.flush()
    assert (blobs.get(digest), blobs.has(digest, len(LARGE))) == (LARGE, True)
    blobs.drop(digest)
    assert list(blobs.files()) == []
    assert Blobs(None, NoMemo()).get(digest) is None


def test_content_that_cannot_be_written_is_held_and_reported(memo: DiskMemo, folder: Path) -> None:
    folder.write_text("not a directory")
    blobs = Blobs(folder, memo)
    digest = blobs.put(LARGE)
    assert blobs.failure is not None
    assert blobs.get(digest) == LARGE


def test_files_are_contents_and_leftovers_of_killed_writers(memo: DiskMemo, folder: Path) -> None:
    blobs = Blobs(folder, memo)
    digest = blobs.put(LARGE)
    near = Path(blobs.path(digest)).parent
    (near / ".half.tmp").write_bytes(b"")
    (near / "notes.txt").write_bytes(b"")
    (folder / "README").write_bytes(b"")
    assert [path.name for path, _ in blobs.files()] == [".half.tmp", digest]


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "ab"])
def test_name_that_is_not_a_hash_is_not_a_path(memo: DiskMemo, folder: Path, name: str) -> None:
    folder.mkdir()
    assert Blobs(folder, memo).get(name) is None
