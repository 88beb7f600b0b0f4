"""A workspace that travels is what it was: from state to state, and whatever builds leave there."""

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.engine.dask.checkout import DamagedSnapshotError, LaidOut
from fabric.engine.dask.fetching import MissingError, Packs
from fabric.engine.dask.sending import (
    SharedStore,
    SnapshotSender,
    UploadedSnapshot,
    list_workspace_files,
)
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.shared.background_uploads import BackgroundUploads
from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError
from fabric.remote.contract import CarrierError, ObjectName
from fabric.remote.packs import Extent
from fabric.remote.seal import parse_seal_keys
from fabric.remote.snapshots import Snapshot, SnapshotFile, store_bytes
from fabric.system.clock import SystemClock, read_file_time_ns
from tests.support.seals import sealed

KEYS = parse_seal_keys("k" * 40)
ROUNDS = 25
NAMES = ("a", "b", "lib", "src", "node_modules")


class MemoryCarrier:
    """Keeps what is put there, as long as it is asked to."""

    place = "memory"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.is_full = False
        self.is_down = False

    def get(self, name: ObjectName) -> bytes | None:
        if self.is_down:
            raise CarrierError("no way there")
        return self.objects.get(str(name))

    def put(self, name: ObjectName, content: bytes) -> None:
        if self.is_full:
            raise CarrierError("no room")
        self.objects[str(name)] = content

    def close(self) -> None:
        pass


@pytest.fixture
def carrier() -> MemoryCarrier:
    return MemoryCarrier()


@pytest.fixture
def store(carrier: MemoryCarrier) -> Iterator[SharedStore]:
    with contextlib.closing(BackgroundUploads(lambda: carrier)) as uploads:
        yield SharedStore(uploads, KEYS, "a cache")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    (tmp_path / "cache").mkdir()
    return made


def sent(store: SharedStore, workspace: Path) -> UploadedSnapshot:
    """As a new run sends it."""
    index = workspace.parent / "files.bin"
    files = FileIndex(workspace, sealed(index), now_ns=read_file_time_ns(workspace))
    cache = workspace.parent / "cache"
    found = SnapshotSender(store, files, cache, SystemClock()).send(workspace)
    files.save()
    return found


def tree(folder: Path) -> dict[str, object]:
    """Every file and link, by content and whether it may be run."""
    return {
        path.relative_to(folder).as_posix(): path.readlink()
        if path.is_symlink()
        else (path.read_bytes(), os.access(path, os.X_OK))
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def edit(folder: Path, dice: random.Random) -> None:
    """One change, as people and tools make them."""
    place = folder.joinpath(*dice.choices(NAMES, k=dice.randint(1, 3)))
    with contextlib.suppress(OSError):
        match dice.randrange(6):
            case 0 | 1:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(dice.randbytes(dice.choice((0, 5, 5, 100_000))))
            case 2:
                place.chmod(dice.choice((0o644, 0o755)))
            case 3:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(os.path.relpath(folder / dice.choice(NAMES), place.parent))
            case 4:
                place.unlink()
            case 5:
                shutil.rmtree(place)


@pytest.mark.parametrize("seed", range(12))
def test_a_workspace_is_laid_out_as_it_is_from_state_to_state(
    seed: int, store: SharedStore, workspace: Path, tmp_path: Path
) -> None:
    dice, packs = random.Random(seed), Packs(store)
    laid_out = LaidOut(tmp_path / "there", packs.content)
    for _ in range(ROUNDS):
        for _ in range(dice.randint(1, 6)):
            edit(workspace, dice)
        if dice.random() < 0.5 and laid_out.folder.is_dir():
            edit(laid_out.folder, dice)  # as a build may, there
        found = sent(store, workspace)
        laid_out.bring(packs.snapshot(found.stored))
        left_out = dict.fromkeys(found.left_out)  # links that lead out of it
        there = {path: one for path, one in tree(workspace).items() if path not in left_out}
        assert tree(laid_out.folder) == there


def test_uploaded_files_are_not_uploaded_again(
    store: SharedStore, workspace: Path, carrier: MemoryCarrier
) -> None:
    (workspace / "large").write_bytes(random.Random(1).randbytes(9 << 20))
    sent(store, workspace)
    before = dict(carrier.objects)
    (workspace / "small").write_text("new")
    sent(store, workspace)
    more = {name: len(one) for name, one in carrier.objects.items() if name not in before}
    assert len(more) == 2
    assert sum(more.values()) < 2000


def test_env_files_and_outside_links_are_not_uploaded(workspace: Path, tmp_path: Path) -> None:
    for name in (".env", "api/.env.local", "api/environment.py", ".git/config", "api/.fabric/x"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("")
    (workspace / "out").symlink_to(tmp_path)
    (workspace / "in").symlink_to(workspace / "api")
    os.mkfifo(workspace / "pipe")
    found = list_workspace_files(str(workspace))
    assert found.files == ("api/environment.py",)
    assert found.links == (("in", "api"),)
    assert found.left_out == (".env", "out", "pipe", "api/.env.local")


@pytest.mark.parametrize(
    "damage",
    [lambda one: one[:-1], lambda one: one[:60] + b"?" + one[61:], lambda _: b""],
    ids=["cut off", "changed", "empty"],
)
def test_damage_is_nothing_and_never_another_file(
    damage: Callable[[bytes], bytes], store: SharedStore, workspace: Path, carrier: MemoryCarrier
) -> None:
    (workspace / "a").write_bytes(random.Random(1).randbytes(1000))
    found = sent(store, workspace)
    laid_out = LaidOut(workspace.parent / "there", Packs(store).content)
    whole = Packs(store).snapshot(found.stored)
    carrier.objects = {name: damage(one) for name, one in carrier.objects.items()}
    with pytest.raises(MissingError):
        Packs(store).snapshot(found.stored)
    with pytest.raises(MissingError):
        laid_out.bring(whole)


def test_failed_upload_to_the_store_is_reported(
    store: SharedStore, workspace: Path, carrier: MemoryCarrier
) -> None:
    (workspace / "a").write_text("a")
    carrier.is_full = True
    with pytest.raises(FabricError, match="cannot send the workspace to the workers: no room"):
        sent(store, workspace)


def test_non_unicode_names_are_not_uploaded(workspace: Path) -> None:
    odd = os.fsdecode(b"\xff")
    (workspace / odd).write_text("")
    (workspace / "link").symlink_to(odd)
    (workspace / "folder" / odd).mkdir(parents=True)
    assert len(list_workspace_files(str(workspace)).left_out) == 3


def test_invalid_or_truncated_snapshot_is_missing(
    store: SharedStore, carrier: MemoryCarrier
) -> None:
    stored, objects = store_bytes(KEYS, [b"nonsense"])
    for name, content in objects:
        carrier.put(name, content)
    packs = Packs(store)
    with pytest.raises(MissingError):
        packs.snapshot(stored)
    with pytest.raises(MissingError):
        packs.join(replace(stored, size=9))
    beyond = SnapshotFile("a", hash_bytes(b""), Extent("0", 4, 99))
    with pytest.raises(MissingError):
        packs.content(Snapshot({"0": stored.packs}, (beyond,)), beyond)


def test_content_that_differs_from_the_snapshot_is_not_written(tmp_path: Path) -> None:
    laid_out = LaidOut(tmp_path / "there", lambda _, __: b"another")
    one = SnapshotFile("a", hash_bytes(b"one"), Extent("0", 0, 3))
    with pytest.raises(DamagedSnapshotError):
        laid_out.bring(Snapshot({"0": ()}, (one,)))
    assert tree(laid_out.folder) == {}
