"""A snapshot that could be written anywhere else than in one folder is none."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.hashing import hash_bytes
from fabric.model.names import Digest
from fabric.remote.packs import Extent
from fabric.remote.snapshots import (
    Snapshot,
    SnapshotFile,
    decode_snapshot,
    encode_snapshot,
    resolve_link,
)

PACK = Digest("a" * 64)
CONTENT = hash_bytes(b"x")


EXTENT = Extent("0", 0, 1)


def file(path: str, extent: Extent = EXTENT, digest: str = CONTENT) -> SnapshotFile:
    return SnapshotFile(path, Digest(digest), extent)


def snapshot(*files: SnapshotFile, links: tuple[tuple[str, str], ...] = ()) -> Snapshot:
    return Snapshot({"0": (PACK,)}, files, links)


def test_a_snapshot_comes_back_as_it_was() -> None:
    made = snapshot(file("a"), file("d/e"), links=(("d/l", "../a"), ("m", "d")))
    assert decode_snapshot(encode_snapshot(made)) == made


@pytest.mark.parametrize(
    "bad",
    [
        snapshot(file("../a")),
        snapshot(file("/etc/passwd")),
        snapshot(file("a/../../b")),
        snapshot(file("a//b")),
        snapshot(file("")),
        snapshot(file("a\0b")),
        snapshot(file("a"), file("a")),
        snapshot(file("a"), file("a/b")),
        snapshot(file("l/b"), links=(("l", "d"),)),
        snapshot(links=(("l", "/etc"),)),
        snapshot(links=(("l", "../out"),)),
        snapshot(links=(("d/l", "../../out"),)),
        snapshot(links=(("l", "d/../.."),)),
        snapshot(file("a", digest="A" * 64)),
        snapshot(file("a", Extent("1", 0, 1))),
        snapshot(file("a", Extent("0", -5, 1))),
        snapshot(file("a", Extent("0", 5 << 20, 1))),
    ],
    ids=repr,
)
def test_snapshot_with_paths_outside_is_rejected(bad: Snapshot) -> None:
    assert decode_snapshot(msgspec.msgpack.encode(bad)) is None


@given(st.binary(max_size=200))
def test_arbitrary_bytes_do_not_decode_to_a_snapshot(content: bytes) -> None:
    assert decode_snapshot(content) is None or content == encode_snapshot(Snapshot({}, ()))


@pytest.mark.parametrize(
    ("path", "target", "leads_to"),
    [
        ("l", "a", "a"),
        ("d/l", "../a", "a"),
        ("d/e/l", "../../x/./y", "x/y"),
        ("d/l", "..", ""),
        ("d/l", "a/..", None),
        ("l", "..", None),
        ("l", "/a", None),
    ],
)
def test_link_resolves_only_within_its_root(path: str, target: str, leads_to: str | None) -> None:
    assert resolve_link(path, target) == leads_to
