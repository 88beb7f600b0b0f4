"""Archives are reproducible: equal files give equal bytes, whatever the machine is like."""

import io
import os
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.runtimes.archive import (
    build_archive,
    hash_contents,
    pack_file,
    pack_files,
    read_packed,
    unpack_archive,
)
from fabric.runtimes.contract import BuiltFile

FILES = (
    BuiltFile("index.js", b"exports.handler = async () => 1;\n"),
    BuiltFile("bin/run", b"#!/bin/sh\n", executable=True),
    BuiltFile("data/\u00e4.json", b"{}"),
    BuiltFile("empty", b""),
)
NAMES = st.text("abc/.-", min_size=1, max_size=8)
ANY_FILES = st.dictionaries(NAMES, st.tuples(st.binary(max_size=64), st.booleans()), max_size=6)


def test_the_order_of_files_does_not_matter() -> None:
    shuffled = list(FILES)
    shuffled.reverse()
    assert build_archive(shuffled) == build_archive(FILES)
    assert hash_contents(shuffled) == hash_contents(FILES)


def test_folder_umask_and_time_zone_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = build_archive(FILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    before = os.umask(0o077)
    try:
        assert build_archive(FILES) == expected
    finally:
        os.umask(before)
        monkeypatch.undo()
        time.tzset()


def test_entries_hold_names_modes_and_content_and_nothing_else() -> None:
    with zipfile.ZipFile(io.BytesIO(build_archive(FILES))) as bundle:
        entries = bundle.infolist()
        assert [entry.filename for entry in entries] == [
            "bin/run",
            "data/\u00e4.json",
            "empty",
            "index.js",
        ]
        assert [entry.external_attr >> 16 & 0o777 for entry in entries] == [
            0o755,
            0o644,
            0o644,
            0o644,
        ]
        assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.extra for entry in entries} == {b""}
        assert bundle.read("index.js") == FILES[0].content


def test_the_mode_is_part_of_the_digest() -> None:
    plain = BuiltFile("run", b"x")
    runnable = BuiltFile("run", b"x", executable=True)
    assert hash_contents([plain]) != hash_contents([runnable])


def test_a_name_never_flows_into_the_content() -> None:
    assert hash_contents([BuiltFile("ab", b"c")]) != hash_contents([BuiltFile("a", b"bc")])


def deflated_by_library(files: list[BuiltFile]) -> bytes:
    """The archive as the library writes it, with its own deflating."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
        for file in sorted(files, key=lambda one: one.path.encode()):
            entry = zipfile.ZipInfo(file.path)
            entry.create_system = 3
            entry.external_attr = (0o100755 if file.executable else 0o100644) << 16
            bundle.writestr(entry, file.content, zipfile.ZIP_DEFLATED, 6)
    return buffer.getvalue()


@given(ANY_FILES, ANY_FILES)
def test_copied_files_give_the_archive_of_their_contents(
    left: dict[str, tuple[bytes, bool]], right: dict[str, tuple[bytes, bool]]
) -> None:
    first = [BuiltFile(name, *rest) for name, rest in left.items()]
    second = [BuiltFile(name, *rest) for name, rest in right.items() if name not in left]
    parts = [pack_files(map(pack_file, files)) for files in (first, second)]
    joined = pack_files(file for part in parts for file in read_packed(part.archive, part.index))
    together = [*first, *second]
    assert joined.archive == build_archive(together) == deflated_by_library(together)
    assert joined == pack_files(map(pack_file, together))
    assert set(unpack_archive(joined.archive)) == set(together)


@given(ANY_FILES, ANY_FILES)
def test_digests_of_packed_files_differ_only_if_files_differ(
    left: dict[str, tuple[bytes, bool]], right: dict[str, tuple[bytes, bool]]
) -> None:
    first, second = (
        pack_files(pack_file(BuiltFile(name, *rest)) for name, rest in files.items())
        for files in (left, right)
    )
    assert (first.digest == second.digest) == (left == right)


@given(ANY_FILES, ANY_FILES)
def test_digests_differ_only_if_files_differ(
    left: dict[str, tuple[bytes, bool]], right: dict[str, tuple[bytes, bool]]
) -> None:
    first = [BuiltFile(name, *rest) for name, rest in left.items()]
    second = [BuiltFile(name, *rest) for name, rest in right.items()]
    assert (hash_contents(first) == hash_contents(second)) == (left == right)
