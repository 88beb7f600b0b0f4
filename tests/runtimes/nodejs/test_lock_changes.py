"""Which packages a change of a lock or a manifest can affect."""

import json

import pytest

from fabric.runtimes.nodejs.lock_changes import affects_packages, has_rows, list_changed_lines
from tests.support.node_locks import BUN, LOCKS, NPM, PNPM_9, YARN_1, YARN_BERRY

ALL = {"@sc/one", "alias", "gitted", "left", "react", "tarred", "uses", "right"}


def affected(file: str, old: str, new: str) -> set[str] | None:
    """The packages that a change affects; None for all of them."""
    lines = list_changed_lines(file, old.encode(), new.encode())
    if lines is None:
        return None
    return {name for name in ALL if affects_packages(lines, {name})}


@pytest.mark.parametrize(("file", "text"), LOCKS.values(), ids=LOCKS)
def test_other_bytes_affect_their_package(file: str, text: str) -> None:
    assert affected(file, text, text) == set()
    assert affected(file, text, text.replace("react1==", "other==")) == {"react"}


@pytest.mark.parametrize(
    ("file", "text", "old", "new", "names"),
    [
        # A service changes to a version that the lock contained before: no row changes.
        ("pnpm-lock.yaml", PNPM_9, "        version: 1.1.0\n", "        version: 1.0.0\n",
         {"left"}),
        ("pnpm-lock.yaml", PNPM_9, "react: 1.0.0", "react: 1.1.0", {"react", "uses"}),
        ("yarn.lock", YARN_1, 'left@^1.0.0, "left@^1.0.0 || ^2.0.0":', "left@^1.0.0:", {"left"}),
        ("yarn.lock", YARN_1, 'react "^1.0.0"', 'react "^1.1.0"', {"react", "uses"}),
        ("package-lock.json", NPM, "node_modules/react", "services/a/node_modules/react",
         {"react"}),
        ("package-lock.json", NPM, '{"right": "1.0.0"}', '{"right": "2.0.0"}', {"right"}),
        ("bun.lock", BUN, '"right": "1.0.0"', '"right": "2.0.0"', {"right"}),
        ("pnpm-lock.yaml", PNPM_9, "autoInstallPeers: true", "autoInstallPeers: false", None),
        ("yarn.lock", YARN_BERRY, "cacheKey: 10c0", "cacheKey: 11", None),
        ("package-lock.json", NPM, '"requires": true', '"requires": false', None),
        ("bun.lock", BUN, '"lockfileVersion": 1', '"lockfileVersion": 9', None),
    ],
)  # fmt: skip
def test_changed_edge_affects_both_ends(
    file: str, text: str, old: str, new: str, names: set[str] | None
) -> None:
    assert old in text
    assert affected(file, text, text.replace(old, new)) == names


MANIFEST = {"name": "all", "scripts": {"a": "left"}, "dependencies": {"left": "1"}}


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"scripts": {"a": "react"}}, set()),
        ({"version": "2.0.0", "license": "MIT"}, set()),
        ({"dependencies": {"left": "2"}}, {"left"}),
        ({"devDependencies": {"@sc/one": "2"}}, {"@sc/one"}),
        ({"overrides": {"uses": {"react": "2"}}}, {"uses", "react"}),
        ({"main": "x.js"}, None),
        ({"packageManager": "pnpm@9"}, None),
    ],
)
def test_change_of_a_manifest_affects_what_it_names(
    more: dict[str, object], names: set[str] | None
) -> None:
    assert affected("package.json", json.dumps(MANIFEST), json.dumps({**MANIFEST, **more})) == names


def test_locks_and_manifests_are_compared() -> None:
    assert has_rows("/w/package.json")
    assert has_rows("/w/node_modules/.package-lock.json")
    assert not has_rows("/w/pnpm-workspace.yaml")
