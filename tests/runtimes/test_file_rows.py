"""Rows of locks and manifests: each package's own changes, in the format of each tool."""

import itertools
import json

import pytest

from fabric.runtimes.file_rows import FIELDS_ROW, Rows, read_rows, select_package
from tests.support.node_locks import LOCKS, NPM, PNPM_6, PNPM_9, YARN_1

# Installed packages of the project: the directory below node_modules, the name and the version.
INSTALLED = {
    "@sc/one": select_package("node_modules/@sc/one", "@sc/one", "1.0.0"),
    "alias": select_package("node_modules/alias", "left", "1.0.0"),
    "gitted": select_package("node_modules/gitted", "gitted", "4.0.0"),
    "left": select_package("node_modules/left", "left", "1.1.0"),
    "react": select_package("node_modules/react", "react", "1.0.0"),
    "tarred": select_package("node_modules/tarred", "tarred", "3.0.0"),
    "uses": select_package("node_modules/uses", "uses", "1.0.0"),
}
# A part of the row of each of them.
MARKS = {
    "@sc/one": "one1==",
    "alias": "left0==",
    "gitted": "55654a8a973ddbae38567",
    "left": "left1==",
    "react": "react1==",
    "tarred": "tar3==",
    "uses": "uses1==",
}


def rows(file: str, text: str) -> Rows:
    found = read_rows(file, text.encode())
    assert found is not None
    return found


def changed(file: str, old: str, new: str) -> set[str]:
    before, after = rows(file, old), rows(file, new)
    return {name for name, one in INSTALLED.items() if before.find(one) != after.find(one)}


@pytest.mark.parametrize(("file", "text"), LOCKS.values(), ids=LOCKS)
@pytest.mark.parametrize("name", MARKS)
def test_change_of_a_package_changes_its_row_only(name: str, file: str, text: str) -> None:
    assert MARKS[name] in text
    new = text.replace(
        MARKS[name],
        MARKS[name].replace("1", "9").replace("0", "9").replace("5", "6").replace("3", "9"),
    )
    assert new != text
    assert changed(file, text, new) == {name}


@pytest.mark.parametrize(("file", "text"), LOCKS.values(), ids=LOCKS)
def test_each_installed_package_has_a_row(file: str, text: str) -> None:
    found = rows(file, text)
    assert all(found.find(one) for one in INSTALLED.values())
    unknown = select_package("node_modules/none", "none", "1.0.0")
    assert found.find(unknown) == ()
    assert not rows(file, text).find(select_package("services/a", "a", "9.0.0"))[1:]


@pytest.mark.parametrize(("file", "text"), LOCKS.values(), ids=LOCKS)
def test_line_ends_do_not_matter(file: str, text: str) -> None:
    assert changed(file, text, text.replace("\n", "\r\n")) == set()


@pytest.mark.parametrize(("file", "text"), LOCKS.values(), ids=LOCKS)
def test_package_in_another_directory_has_the_row_of_its_name(file: str, text: str) -> None:
    stored = select_package("node_modules/.store/left@1.1.0-x/node_modules/left", "left", "1.1.0")
    assert rows(file, text).find(stored) == rows(file, text).find(INSTALLED["left"])


@pytest.mark.parametrize(
    ("file", "text", "old", "new"),
    [
        ("pnpm-lock.yaml", PNPM_9, "    hash: 3fb6", "    hash: 4fb6"),
        ("pnpm-lock.yaml", PNPM_9.replace("  uses@1.0.0:\n    hash", "  uses:\n    hash"),
         "    hash: 3fb6", "    hash: 4fb6"),
        ("pnpm-lock.yaml", PNPM_6, "(patch_hash=3fb6", "(patch_hash=4fb6"),
        ("yarn.lock", LOCKS["yarn berry"][1], "&hash=3fb6", "&hash=4fb6"),
        ("bun.lock", LOCKS["bun"][1], '"patches/uses@1.0.0.patch"', '"patches/new.patch"'),
    ],
)  # fmt: skip
def test_patch_is_a_part_of_the_row(file: str, text: str, old: str, new: str) -> None:
    assert changed(file, text, text.replace(old, new)) == {"uses"}


def test_another_peer_does_not_change_a_row() -> None:
    assert (
        changed("pnpm-lock.yaml", PNPM_6, PNPM_6.replace("(react@1.0.0)", "(react@1.1.0)")) == set()
    )
    peers = NPM.replace('"peerDependencies": {"react": "^1"}', '"peerDependencies": {"react": "*"}')
    assert changed("package-lock.json", NPM, peers) == set()


def test_directory_of_an_archive_can_have_another_name_than_its_manifest() -> None:
    text = YARN_1.replace('"tarred@file', '"other@file')
    selector = select_package("node_modules/other", "tarred", "3.0.0")
    assert "tar3==" in rows("yarn.lock", text).find(selector)[0]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("package-lock.json", "{}"),
        ("package-lock.json", "["),
        ("package-lock.json", NPM.replace('Version": 3', 'Version": 1')),
        ("package-lock.json", NPM.replace('Version": 3', 'Version": 4')),
        ("package-lock.json", NPM.replace('"link": true', '"link": "yes"')),
        ("pnpm-lock.yaml", ""),
        ("pnpm-lock.yaml", PNPM_9.replace("'9.0'", "'10.0'")),
        ("pnpm-lock.yaml", PNPM_9.replace("'9.0'", "5.4")),
        ("pnpm-lock.yaml", f"---\n{PNPM_9}"),
        ("pnpm-lock.yaml", PNPM_9.replace("  left@1.1.0:\n", "  ? left@1.1.0\n  :\n", 1)),
        ("pnpm-lock.yaml", PNPM_9.replace("  left@1.1.0:\n", '  "left@1.1.0":\n', 1)),
        ("pnpm-lock.yaml", PNPM_9.replace("resolution: {integrity: sha512-left1", "none: {a: b")),
        ("yarn.lock", ""),
        ("yarn.lock", YARN_1.replace("lockfile v1", "lockfile v2")),
        ("yarn.lock", YARN_1.replace('  version "1.1.0"\n', "")),
        ("yarn.lock", f"{YARN_1}<<<<<<< HEAD\n"),
        ("yarn.lock", LOCKS["yarn berry"][1].replace("  version: 1.1.0\n", "")),
        ("bun.lock", LOCKS["bun"][1].replace('"lockfileVersion": 1', '"lockfileVersion": 9')),
        ("bun.lock", LOCKS["bun"][1].replace('["left@1.1.0"', '[["left@1.1.0"]')),
        ("package.json", "[]"),
        ("package.json", "{} // comment"),
        ("other.lock", "{}"),
    ],
    ids=itertools.count(),
)  # fmt: skip
def test_unknown_form_has_no_rows(file: str, text: str) -> None:
    assert read_rows(file, text.encode()) is None


def test_invalid_text_has_no_rows() -> None:
    assert read_rows("pnpm-lock.yaml", b"\xff\xfe") is None


MANIFEST = {"name": "a", "version": "1.0.0", "main": "x.js", "exports": {"a": 1, "b": 2}}


def fields(document: object) -> tuple[str, ...]:
    return rows("a/package.json", json.dumps(document)).find(FIELDS_ROW)


@pytest.mark.parametrize(
    "more",
    [
        {"scripts": {"test": "x"}},
        {"version": "2.0.0"},
        {"dependencies": {"a": "1"}},
        {"devDependencies": {"a": "1"}},
        {"description": "x", "engines": {"node": "20"}},
    ],
    ids=str,
)
def test_other_fields_of_a_manifest_do_not_count(more: dict[str, object]) -> None:
    assert fields({**MANIFEST, **more}) == fields(MANIFEST)


@pytest.mark.parametrize(
    "more",
    [
        {"name": "b"},
        {"type": "module"},
        {"main": "y.js"},
        {"module": "y.mjs"},
        {"browser": {"fs": False}},
        {"exports": {"b": 2, "a": 1}},
        {"imports": {"#a": "./a.js"}},
        {"sideEffects": False},
        {"tsconfig": "x.json"},
    ],
    ids=str,
)
def test_fields_of_the_bundler_count(more: dict[str, object]) -> None:
    assert fields({**MANIFEST, **more}) != fields(MANIFEST)


def test_second_of_two_equal_keys_counts_as_well() -> None:
    one, two = '{"main": "a", "main": "b"}', '{"main": "a", "main": "c"}'
    assert rows("package.json", one).find("") != rows("package.json", two).find("")
