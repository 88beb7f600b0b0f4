"""External packages: what is packed runs in plain Node, and what decided it is known."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.build import Runtimes
from tests.runtimes.nodejs.test_bundler import call
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import digests, names, node, unchanged, write

HELLO = 'import left from "left";\nexport const handler = () => left;'


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def package(
    folder: str, code: str, version: str = "1.0.0", **needs: Mapping[str, str]
) -> dict[str, str]:
    name = folder.rpartition("node_modules/")[2]
    manifest = {"name": name, "version": version, **needs}
    return {f"{folder}/package.json": json.dumps(manifest), f"{folder}/index.js": code}


@pytest.mark.parametrize("external", ["left", "l*", "node_modules", "*"])
def test_external_package_is_packed_with_its_dependencies(
    external: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    modules = "node_modules"
    write(
        tmp_path,
        {
            "api/src/hello.ts": HELLO,
            "package-lock.json": "{}",
            **package(
                f"{modules}/left",
                "module.exports = [require('one'), require('two'), require('fs').sep];",
                dependencies={"one": "1", "two": "1"},
                devDependencies={"unused": "1"},
            ),
            **package(
                f"{modules}/one", "module.exports = require('deep');", dependencies={"deep": "1"}
            ),
            **package(
                f"{modules}/two", "module.exports = require('deep');", dependencies={"deep": "2"}
            ),
            **package(f"{modules}/deep", "module.exports = 1;"),
            **package(f"{modules}/two/{modules}/deep", "module.exports = 2;", "2.0.0"),
            **package(f"{modules}/unused", ""),
        },
    )
    built = runtimes.build(tmp_path, node(external=(external,)))
    known = digests(tmp_path, built.seen)
    assert call(built, tmp_path / "out") == [1, 2, None]
    assert "node_modules/left/index.js" in names(built)
    assert not any("unused" in name for name in names(built))
    assert {"package-lock.json", "node_modules/two/package.json"} <= set(built.seen.all_files)
    write(tmp_path, package("node_modules/one/node_modules/deep", "module.exports = 3;"))
    assert not unchanged(tmp_path, built.seen, known)


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ('import { Left } from "left";\nexport const handler = (it: Left) => 1;', "dropped"),
        ('import type { Left } from "left";\nexport const handler = (it: Left) => 1;', "dropped"),
        ('export const handler = () => 1;\nif (false) require("left");', "dropped"),
        (
            'import { Left } from "left";\nexport const handler = (it: Left) => new Left();',
            "bundled",
        ),
        ('import "left";\nexport const handler = () => 1;', "bundled"),
        ('export const handler = () => import("left");', "bundled"),
        ('export const handler = () => require.resolve("left");', "packed"),
    ],
)
@pytest.mark.parametrize("external", [(), ("left",)])
def test_a_package_that_the_bundle_does_not_import_is_not_packed(
    source: str, how: str, external: tuple[str, ...], tmp_path: Path, runtimes: Runtimes
) -> None:
    left = package("node_modules/left", "module.exports = {};")
    write(tmp_path, {"api/src/hello.ts": source, **left})
    built = runtimes.build(tmp_path, node(external=external))
    is_packed = how == "packed" or (how == "bundled" and external)
    assert ("node_modules/left/index.js" in names(built)) == bool(is_packed)


def test_packages_that_are_links_into_a_store_are_packed_as_files(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    store = "node_modules/.store"
    write(
        tmp_path,
        {
            "api/src/hello.ts": HELLO,
            **package(
                f"{store}/left@1/node_modules/left",
                "module.exports = require('right');",
                dependencies={"right": "1"},
            ),
            **package(f"{store}/right@1/node_modules/right", "module.exports = 5;"),
        },
    )
    (tmp_path / "node_modules/left").symlink_to(".store/left@1/node_modules/left")
    beside = tmp_path / store / "left@1/node_modules/right"
    beside.symlink_to("../../right@1/node_modules/right")
    built = runtimes.build(tmp_path, node(external=("left",)))
    assert call(built, tmp_path / "out") == 5
    assert not any(".store" in name for name in names(built))


def test_a_linked_workspace_counts_file_by_file(tmp_path: Path, runtimes: Runtimes) -> None:
    write(
        tmp_path,
        {
            "api/src/hello.ts": HELLO,
            **package("libs/left", "module.exports = require('./more');"),
            "libs/left/more.js": "module.exports = 6;",
        },
    )
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/left").symlink_to("../libs/left")
    built = runtimes.build(tmp_path, node(external=("left",)))
    known = digests(tmp_path, built.seen)
    assert call(built, tmp_path / "out") == 6
    assert unchanged(tmp_path, built.seen, known)
    write(tmp_path, {"libs/left/more.js": "module.exports = 7;"})
    assert not unchanged(tmp_path, built.seen, known)


def test_a_workspace_brings_no_file_from_outside_of_the_project(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    workspace = write(
        tmp_path / "work",
        {"api/src/hello.ts": HELLO, **package("libs/left", "module.exports = 1;")},
    )
    write(tmp_path, {"outside.txt": "secret"})
    (workspace / "libs/left/led.txt").symlink_to(tmp_path / "outside.txt")
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules/left").symlink_to("../libs/left")
    with pytest.raises(FabricError) as caught:
        runtimes.build(workspace, node(external=("left",)))
    assert caught.value.first.code == "build/include-outside"


@pytest.mark.parametrize("external", ["left", "le*", "node_modules"])
def test_external_package_not_installed_is_a_warning(
    external: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {"api/src/hello.ts": HELLO})
    built = runtimes.build(tmp_path, node(external=(external,)))
    assert [problem.code for problem in built.warnings] == ["build/not-packed"]
    assert names(built) == ["src/hello.js"]


def test_a_missing_dependency_of_an_external_package_is_a_warning(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    needs: dict[str, Any] = {
        "dependencies": {"gone": "1", "maybe": "1"},
        "optionalDependencies": {"maybe": "1"},
    }
    write(tmp_path, {"api/src/hello.ts": HELLO, **package("node_modules/left", "", **needs)})
    [problem] = runtimes.build(tmp_path, node(external=("left",))).warnings
    assert problem.code == "build/not-packed"
    assert "`left` needs `gone`, which is not installed" in problem.message


def elf(machine: int) -> bytes:
    return b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little")


NATIVE = {"linux-x64": elf(62), "linux-arm64": elf(183), "mac": b"\xcf\xfa\xed\xfe", "win": b"MZ"}


@pytest.mark.parametrize(
    ("there", "architecture", "ending"),
    [
        (("linux-x64",), "", "packed"),
        (("linux-x64",), "x86_64", "packed"),
        (("linux-x64",), "arm64", "refused"),
        (("linux-arm64",), "arm64", "packed"),
        (("mac",), "", "refused"),
        (("win",), "", "refused"),
        (("mac", "win", "linux-x64"), "", "packed"),
    ],
)
def test_a_native_module_for_another_machine_is_refused_with_the_command_that_helps(
    there: tuple[str, ...],
    architecture: str,
    ending: str,
    tmp_path: Path,
    runtimes: Runtimes,
) -> None:
    optional = {f"@left/{name}": "1" for name in NATIVE}
    write(
        tmp_path,
        {
            "api/src/hello.ts": HELLO,
            **package("node_modules/left", "", optionalDependencies=optional),
        },
    )
    for name in there:
        write(tmp_path, package(f"node_modules/@left/{name}", ""))
        (tmp_path / f"node_modules/@left/{name}/left.node").write_bytes(NATIVE[name])
    inputs = node(external=("left",), architecture=architecture)
    if ending == "packed":
        assert f"node_modules/@left/{there[0]}/left.node" in names(runtimes.build(tmp_path, inputs))
        return
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, inputs)
    problem = caught.value.first
    assert problem.code == "build/foreign-native"
    processor = "arm64" if architecture == "arm64" else "x64"
    assert problem.hint == f"run: npm install --os=linux --cpu={processor} --libc=glibc left"
