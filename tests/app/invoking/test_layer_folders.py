"""Layers for local calls: unpacked once for each content."""

from pathlib import Path

import pytest

from fabric.app.invoking.layer_folders import LayerArchive, unpack_layers
from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError
from fabric.runtimes.archive import build_archive
from fabric.runtimes.contract import BuiltFile


def layer(folder: Path, name: str, content: bytes | None = None) -> LayerArchive:
    zipped = build_archive([BuiltFile("bin/run", name.encode(), executable=True)])
    path = folder / f"{name}.zip"
    path.write_bytes(zipped if content is None else content)
    return LayerArchive(name, hash_bytes(path.read_bytes()), path)


def test_the_last_layer_takes_precedence(tmp_path: Path) -> None:
    layers = [layer(tmp_path, name) for name in ("one", "two")]
    found = [Path(one, "bin/run") for one in unpack_layers(layers, tmp_path / "opt")]
    assert [one.read_text() for one in found] == ["two", "one"]
    assert found[0].stat().st_mode & 0o100


def test_an_unpacked_layer_is_used_again(tmp_path: Path) -> None:
    one = layer(tmp_path, "one")
    first = unpack_layers([one], tmp_path / "opt")
    one.path.unlink()
    assert unpack_layers([one], tmp_path / "opt") == first
    assert [path.name for path in (tmp_path / "opt").iterdir()] == [Path(first[0]).name]


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="cannot unpack the layer `one`"):
        unpack_layers([layer(tmp_path, "one", b"no zip")], tmp_path / "opt")
    assert not list((tmp_path / "opt").iterdir())
