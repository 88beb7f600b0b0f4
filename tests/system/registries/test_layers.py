"""Layers: equal files give equal bytes, and an upgrade changes one layer."""

import io
import random
import tarfile
from gzip import decompress

from hypothesis import given
from hypothesis import strategies as st

from fabric.model.hashing import hash_bytes
from fabric.runtimes.contract import BuiltFile
from fabric.system.registries.layers import write_layer

_NAMES = st.lists(
    st.text("abcäß-._ €", min_size=1, max_size=8).filter(lambda one: one not in (".", "..")),
    min_size=1,
    max_size=3,
).map("/".join)
_FILES = st.dictionaries(_NAMES, st.tuples(st.binary(max_size=50), st.booleans()), max_size=8).map(
    lambda found: [BuiltFile(path, *rest) for path, rest in found.items()]
)


def _entries(content: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(decompress(content))) as archive:
        return archive.getmembers()


@given(_FILES, st.randoms())
def test_the_same_files_in_any_order_give_the_same_layer(
    files: list[BuiltFile], shuffling: random.Random
) -> None:
    shuffled = list(files)
    shuffling.shuffle(shuffled)
    assert write_layer(shuffled) == write_layer(files)


def test_a_layer_has_its_parents_first_and_no_owner_time_or_machine_in_it() -> None:
    layer = write_layer([BuiltFile("b/run", b"x", executable=True), BuiltFile("a.py", b"y")])
    rows = [(one.name, one.mode, one.uid, one.gid, one.mtime) for one in _entries(layer.content)]
    assert rows == [
        ("var", 0o755, 0, 0, 0),
        ("var/task", 0o755, 0, 0, 0),
        ("var/task/a.py", 0o644, 0, 0, 0),
        ("var/task/b", 0o755, 0, 0, 0),
        ("var/task/b/run", 0o755, 0, 0, 0),
    ]
    # Time and system of the compressed stream.
    assert layer.content[4:8] == bytes(4)


def test_digests_name_the_compressed_and_the_plain_bytes() -> None:
    layer = write_layer([BuiltFile("a.py", b"y")])
    assert layer.digest == f"sha256:{hash_bytes(layer.content)}"
    assert layer.row.diff_id == f"sha256:{hash_bytes(decompress(layer.content))}"
