"""A project in TypeScript that changes at random, so that nearly every state of it builds."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

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
    "n/deep",
    "/abs/deep",
    "./style.css",
)
FOLDERS = (
    "app/one/src",
    "app/one/src",
    "app/one/src/lib",
    "app/one/src/lib",
    "app/one/shared",
    "libs/common",
    "libs/other",
    "app/one/src/lib/.venv",
    "app/one/src/lib/__pycache__/[id]",
    "app/one/src/lib/node_modules/left",
)
NAMES = ("a", "b", "x", "index", "deep", "more", "lib", "data")
EXTENSIONS = (".ts", ".tsx", ".js", ".mjs", ".mts", ".json", "")
KEPT = frozenset({"hello", "effects", "style"})
HOSTS = (".", "app", "app/one", "app/one/src")
MAINS = ("./a.js", "./more", "deep", "./index.ts")
EXTENDS = (
    "",
    *3 * ('"base"',),
    *2 * ('"base/strict"',),
    '"../tsconfig.base"',
    '"base/tsconfig.json"',
    '"@shop/linked"',
    '"@shop/linked/conf/strict.json"',
    '["../tsconfig.base", "base"]',
    '["base/strict", "@shop/linked/strict"]',
    '".."',
)
CONFIG_FIELDS = (
    '"main": "x"',
    '"tsconfig": "./conf/strict.json"',
    '"tsconfig": "conf"',
    '"exports": "./conf/strict.json"',
    '"exports": {".": {"require": "./conf/strict.json"}, "./*": ["./conf/*.json"]}',
    '"exports": {"./": "./", "./strict": {"import": "./no", "default": "./tsconfig.json"}}',
)
CONFIG_FILES = ("tsconfig.json", "conf/strict.json", "conf/tsconfig.json", "strict.json")
SHEETS = ("app/one/src/style.css", "app/one/src/x.css", "app/one/src/lib/deep.css")
OPTIONS = (
    '"baseUrl": "."',
    '"baseUrl": "./src"',
    '"paths": {"@/*": ["./src/*", "./lib/*"]}',
    '"baseUrl": "..", "paths": {"@/*": ["one/src/*"], "common": ["../libs/other/a"]}',
    '"paths": {"@/*": ["${configDir}/src/*", "app/one/lib/*"], "/abs/*": ["./src/lib/*", "./*"]}',
    '"baseUrl": "${configDir}/src", "paths": {"common": ["./lib/deep"]}',
    '"paths": {"lib/deep": ["../libs/common/deep", "src/lib/deep"], "common": ["./a", "./src/b"]}',
    '"useDefineForClassFields": false, "target": "es2020"',
    '"jsx": "react", "jsxFactory": "h"',
)
Edit = Callable[[Path, random.Random], None]


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
    if dice.random() < 0.2:
        lines.append("export const any = (name) => import(`./${name}/b.mjs`).catch(() => 0)")
    return "\n".join([*lines, f"export class Marked {{ at = {dice.randint(0, 999)} }}"])


def write_module(root: Path, dice: random.Random) -> None:
    name = dice.choice(NAMES) + dice.choice(EXTENSIONS)
    text = f'{{"at": {dice.random()}}}' if name.endswith(".json") else source(dice)
    put(root / dice.choice(FOLDERS) / name, text)


def write_handler(root: Path, dice: random.Random) -> None:
    wanted = dice.sample(SPECIFIERS, 18)
    text = "\n".join(f'try {{ require("{name}") }} catch {{}}' for name in wanted)
    head = 'import "./style.css";\nimport "../effects";\n'
    put(root / "app/one/src/hello.ts", f"{head}{text}\nexport const handler = async () => 1;\n")


def write_sheet(root: Path, dice: random.Random) -> None:
    wanted = dice.sample(("x.css", "./x.css", "left/x.css"), dice.randint(0, 1))
    lines = [f'@import "{name}";' for name in wanted if name == "x.css" or dice.random() < 0.1]
    put(root / dice.choice(SHEETS), "\n".join([*lines, f"a {{ top: {dice.randint(0, 999)}px }}"]))


def begin(root: Path, dice: random.Random) -> None:
    """What is always there: an entry, its stylesheet, a module that may have no effect."""
    write_handler(root, dice)
    put(root / "app/one/effects.ts", "console.log(1)")
    put(root / "app/one/src/style.css", "a {}")
    put(root / "node_modules/x.css/package.json", '{"name": "x.css", "version": "1.0.0"}')
    put(root / "node_modules/x.css/index.css", "b {}")


def remove_one(root: Path, dice: random.Random) -> None:
    files = [path for path in sorted(root.rglob("*")) if path.is_file() or path.is_symlink()]
    victims = [path for path in files if "node_modules" not in path.parts and path.stem not in KEPT]
    if victims:
        dice.choice(victims).unlink()


def rename_one(root: Path, dice: random.Random) -> None:
    files = [
        path for path in sorted(root.rglob("*.?s")) if path.is_file() and path.stem not in KEPT
    ]
    files = [path for path in files if "node_modules" not in path.parts]
    if files:
        moved = dice.choice(files)
        text = moved.read_text()
        moved.unlink()
        put(moved.with_suffix(dice.choice((".ts", ".tsx", ".js", ".mts"))), text)


def write_tsconfig(root: Path, dice: random.Random) -> None:
    extends = dice.choice(EXTENDS)
    extends = f'"extends": {extends},' if extends else ""
    text = f'{{ // note\n {extends} "compilerOptions": {{ {dice.choice(OPTIONS)}, }} }}'
    name = dice.choice((*3 * ("tsconfig.json",), "jsconfig.json", "tsconfig.base.json"))
    places = (*4 * ("app/one",), *HOSTS, "libs/common", "libs/other")
    put(root / dice.choice(places) / name, text)


def write_manifest(root: Path, dice: random.Random) -> None:
    inner = f'"imports": {{"#inner": "./src/{dice.choice("ab")}.js", "#inner/*": "./src/*.js"}}'
    outer = '"exports": {".": "./a.js", "./deep": {"import": "./no.js", "default": "./deep.js"}}'
    every = '"exports": {"./*": "./src/*.js"}'
    field = dice.choice(CONFIG_FIELDS)
    effects = '"sideEffects": false'
    extra = dice.choice(('"type": "module"', effects, effects, inner, inner, outer, every, field))
    main = f'"main": "{dice.choice(MAINS)}"'
    folder = dice.choice((*HOSTS, *FOLDERS[:-1]))
    put(root / folder / "package.json", f'{{"name": "n", {main}, {extra}}}')


def write_plug_and_play(root: Path, dice: random.Random) -> None:
    """One that says nothing: its being there must hide no other file."""
    put(root / dice.choice(HOSTS) / dice.choice((".pnp.js", ".pnp.cjs")), f"// {dice.random()}")


def install_config(root: Path, dice: random.Random) -> None:
    """A package of settings, with a version or linked in without one."""
    manifest = f'"version": "{dice.randint(0, 10**6)}.0.0", {dice.choice(CONFIG_FIELDS)}'
    package = root / dice.choice(HOSTS) / "node_modules" / "base"
    if dice.random() < 0.3:
        package, manifest = root / "libs/common", dice.choice(CONFIG_FIELDS)
    put(package / "package.json", f'{{"name": "base", {manifest}}}')
    for name in dice.sample(CONFIG_FILES, 2):
        put(package / name, f'{{"compilerOptions": {{{dice.choice(OPTIONS)}}}}}')


def install_package(root: Path, dice: random.Random) -> None:
    """A package's files change only with its version."""
    version = dice.randint(0, 10**6)
    name = dice.choice(("left", "common", "fs"))
    package = root / dice.choice(HOSTS) / "node_modules" / name
    shutil.rmtree(package, ignore_errors=True)
    put(package / "package.json", f'{{"name": "{name}", "version": "{version}.0.0"}}')
    put(package / "index.js", f"exports.at = {version}; try {{ require('common') }} catch {{}}")
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
    target = root / "libs/common" / f"{dice.choice(NAMES)}.ts"
    if not target.is_file():
        put(target, source(dice))
    put(link, "")
    link.unlink()
    link.symlink_to(target)


EDIT_KINDS: tuple[Edit, ...] = (
    *5 * (write_module,),
    write_handler,
    remove_one,
    remove_one,
    rename_one,
    *3 * (write_tsconfig,),
    *2 * (write_manifest,),
    write_sheet,
    write_plug_and_play,
    *3 * (install_config,),
    install_package,
    remove_package,
    link_package,
    link_source,
)
