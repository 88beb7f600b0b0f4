"""What was seen decides: where nothing of it changed, a clean build gives equal bytes."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabric.model.hashing import digest_bytes
from fabric.model.problems import FabricError
from fabric.model.task import BuildInputs
from fabric.runtimes.archive import content_digest
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Seen
from fabric.runtimes.seen import look_ups_hold
from tests.bundler_cache import real_runtimes

SEEDS = range(8)
EDITS = 60
SPECIFIERS = (
    "./a",
    "./a.js",
    "./b",
    "./b.mjs",
    "./lib",
    "./lib/",
    "./lib/deep",
    "../shared/x",
    "../../../libs/common",
    "../../../libs/common/index.js",
    "@/a",
    "@/lib",
    "lib/deep",
    "common",
    "left",
    "left/sub",
    "@shop/linked",
    "@shop/linked/more",
    "#inner",
    "#inner/b",
    "fs",
    "./data.json",
)
FOLDERS = ("app/one/src", "app/one/src/lib", "app/one/shared", "libs/common", "libs/other")
NAMES = ("a", "b", "x", "index", "deep", "more", "lib", "data")
EXTENSIONS = (".ts", ".tsx", ".js", ".mjs", ".mts", ".json", "")
HOSTS = (".", "app", "app/one", "app/one/src")
MAINS = ("./a.js", "./more", "deep", "./index.ts")
OPTIONS = (
    '"baseUrl": "."',
    '"baseUrl": "./src"',
    '"paths": {"@/*": ["./src/*", "./lib/*"]}',
    '"baseUrl": "..", "paths": {"@/*": ["one/src/*"], "common": ["../libs/other/a"]}',
    '"useDefineForClassFields": false, "target": "es2020"',
    '"jsx": "react", "jsxFactory": "h"',
)
Edit = Callable[[Path, random.Random], None]


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def put(path: Path, text: str) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    for parent in path.parents:
        if parent.is_file():
            parent.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def source(dice: random.Random) -> str:
    """Imports that may lead nowhere, so that nearly every state of the project builds."""
    wanted = dice.sample(SPECIFIERS, dice.randint(0, 4))
    lines = [f'try {{ require("{name}") }} catch {{}}' for name in wanted]
    if dice.random() < 0.2:
        lines.append("export const late = (name) => import(`./lib/${name}.js`).catch(() => 0)")
    return "\n".join([*lines, f"export class Marked {{ at = {dice.randint(0, 999)} }}"])


def write_module(root: Path, dice: random.Random) -> None:
    name = dice.choice(NAMES) + dice.choice(EXTENSIONS)
    text = f'{{"at": {dice.random()}}}' if name.endswith(".json") else source(dice)
    put(root / dice.choice(FOLDERS) / name, text)


def write_handler(root: Path, dice: random.Random) -> None:
    wanted = dice.sample(SPECIFIERS, 8)
    text = "\n".join(f'try {{ require("{name}") }} catch {{}}' for name in wanted)
    put(root / "app/one/src/hello.ts", f"{text}\nexport const handler = async () => 1;\n")


def remove_one(root: Path, dice: random.Random) -> None:
    files = [path for path in sorted(root.rglob("*")) if path.is_file() or path.is_symlink()]
    victims = [path for path in files if "node_modules" not in path.parts and path.stem != "hello"]
    if victims:
        dice.choice(victims).unlink()


def rename_one(root: Path, dice: random.Random) -> None:
    files = [path for path in sorted(root.rglob("*.?s")) if path.is_file() and path.stem != "hello"]
    files = [path for path in files if "node_modules" not in path.parts]
    if files:
        moved = dice.choice(files)
        text = moved.read_text()
        moved.unlink()
        put(moved.with_suffix(dice.choice((".ts", ".tsx", ".js", ".mts"))), text)


def write_tsconfig(root: Path, dice: random.Random) -> None:
    extends = dice.choice(
        ("", '"extends": "../tsconfig.base",', '"extends": "base/tsconfig.json",')
    )
    text = f'{{ // note\n {extends} "compilerOptions": {{ {dice.choice(OPTIONS)}, }} }}'
    name = dice.choice(("tsconfig.json", "tsconfig.json", "jsconfig.json", "tsconfig.base.json"))
    put(root / dice.choice(HOSTS) / name, text)


def write_manifest(root: Path, dice: random.Random) -> None:
    inner = f'"imports": {{"#inner": "./src/{dice.choice("ab")}.js", "#inner/*": "./src/*.js"}}'
    extra = dice.choice(('"type": "module"', '"sideEffects": false', inner, inner))
    main = f'"main": "{dice.choice(MAINS)}"'
    folder = dice.choice((*HOSTS, *FOLDERS))
    put(root / folder / "package.json", f'{{"name": "n", {main}, {extra}}}')


def install_package(root: Path, dice: random.Random) -> None:
    """A package's files change only with its version."""
    version = dice.randint(0, 10**6)
    name = dice.choice(("left", "common", "base", "fs"))
    package = root / dice.choice(HOSTS) / "node_modules" / name
    shutil.rmtree(package, ignore_errors=True)
    put(package / "package.json", f'{{"name": "{name}", "version": "{version}.0.0"}}')
    put(package / "index.js", f"exports.at = {version}; try {{ require('common') }} catch {{}}")
    put(package / "tsconfig.json", f'{{"compilerOptions": {{{dice.choice(OPTIONS)}}}}}')
    if dice.random() < 0.5:
        put(package / "sub.js", f"exports.sub = {version}")


def remove_package(root: Path, dice: random.Random) -> None:
    packages = sorted(root.rglob("node_modules/left")) + sorted(root.rglob("node_modules/common"))
    if packages:
        shutil.rmtree(dice.choice(packages))


def link_package(root: Path, dice: random.Random) -> None:
    link = root / dice.choice(HOSTS) / "node_modules" / "@shop" / "linked"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(root / "libs" / dice.choice(("common", "other")))


def link_source(root: Path, dice: random.Random) -> None:
    link = root / "app/one/src" / f"{dice.choice('ab')}.ts"
    put(link, "")
    link.unlink()
    link.symlink_to(root / "libs/common" / f"{dice.choice(NAMES)}.ts")


EDIT_KINDS: tuple[Edit, ...] = (
    write_module,
    write_module,
    write_module,
    write_module,
    write_handler,
    remove_one,
    remove_one,
    rename_one,
    write_tsconfig,
    write_manifest,
    install_package,
    remove_package,
    link_package,
    link_source,
)
HELLO = BuildInputs("one", "hello", "app/one", "src/hello.handler", "nodejs20.x")


def clean_build(runtimes: Runtimes, root: Path) -> tuple[str, Seen] | None:
    try:
        built = runtimes.build(root, HELLO)
    except FabricError:
        return None
    return content_digest(built.files), built.seen


def digests(root: Path, seen: Seen) -> list[str]:
    return [digest_bytes((root / path).read_bytes()) for path in seen.files]


@pytest.mark.flow
@pytest.mark.parametrize("seed", SEEDS)
def test_equal_look_ups_mean_equal_bytes(seed: int, tmp_path: Path, runtimes: Runtimes) -> None:
    dice = random.Random(seed)
    write_handler(tmp_path, dice)
    before = clean_build(runtimes, tmp_path)
    known = digests(tmp_path, before[1]) if before else []
    rebuilt = skipped = 0
    for number in range(EDITS):
        edit = dice.choice(EDIT_KINDS)
        edit(tmp_path, dice)
        after = clean_build(runtimes, tmp_path)
        if before is not None:
            held = look_ups_hold(str(tmp_path), before[1])
            if held and digests(tmp_path, before[1]) == known:
                skipped += 1
                assert after is not None, (number, edit.__name__)
                assert after[0] == before[0], (number, edit.__name__)
            else:
                rebuilt += 1
        before = after
        known = digests(tmp_path, after[1]) if after else []
    assert rebuilt > 5
    assert skipped > 5
