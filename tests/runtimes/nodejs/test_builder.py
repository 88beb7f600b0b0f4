"""Builds that run together give what each gives by itself: bytes, look-ups, words."""

import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Built
from fabric.runtimes.entry import locate
from fabric.runtimes.nodejs import bundler
from fabric.runtimes.nodejs.options import bundle_options
from fabric.runtimes.nodejs.toolchain import build_pinned_path, find_node
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN, real_runtimes
from tests.support.node_project import (
    EDIT_KINDS,
    begin,
    install_package,
    link_package,
    link_source,
    put,
    remove_one,
    rename_one,
    source,
    write_module,
)
from tests.support.runtimes_project import node, write

BATCHES = Path(bundler.__file__).with_name("batches.mjs")
ENTRIES = 6
CALM = (write_module, rename_one, remove_one, install_package, link_package, link_source)
COMPARE = """
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
const [, batches, folder, text] = process.argv;
const { Batches } = await import(batches);
const real = createRequire(`${folder}/package.json`)(folder);
let joined = 0;
async function build(options) {
  const result = await real.build(options);
  joined += options.entryPoints.length > 1;
  return result;
}
const bundler = { version: real.version, build };
const requests = JSON.parse(text).map((options) => ({ folder, options, bundler }));
async function plain(answer) {
  try {
    const { files, inputs, outside, warnings } = await answer;
    const texts = files.map(({ path, contents }) => [path, `${Buffer.from(contents)}`]);
    return JSON.stringify([texts, Object.entries(inputs).sort(), outside, warnings]);
  } catch (error) {
    return String(error.errors.map(({ text }) => text));
  }
}
const alone = [];
for (const request of requests) alone.push(await plain(new Batches().ask(request)));
const every = new Batches();
const together = await Promise.all(requests.map((request) => plain(every.ask(request))));
writeFileSync(1, JSON.stringify({ alone, together, joined }));
process.exit(0);
"""
Answer = Built | tuple[Problem, ...]


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def answer(runtimes: Runtimes, workspace: Path, inputs: BuildInputs) -> Answer:
    try:
        return runtimes.build(workspace, inputs)
    except FabricError as error:
        return error.problems


def both_ways(
    runtimes: Runtimes, workspace: Path, every: Sequence[BuildInputs]
) -> tuple[list[Answer], list[Answer]]:
    """Each by itself, one after the other; and all at once."""
    alone = [answer(runtimes, workspace, inputs) for inputs in every]
    with ThreadPoolExecutor(len(every)) as pool:
        together = list(pool.map(lambda inputs: answer(runtimes, workspace, inputs), every))
    return alone, together


def write_entries(root: Path, dice: random.Random) -> list[str]:
    """Sources that load what the others of the project load, and now and then each other."""
    names = [f"src/entry{number}" for number in range(ENTRIES)]
    for name in names:
        other = f'export * from "./{Path(dice.choice(names)).name}";\n'
        head = other if dice.random() < 0.3 else ""
        put(root / f"app/one/{name}.ts", f"{head}{source(dice)}\nexport const handler = 1;\n")
    return [f"{name}.ts" for name in names]


def joined(root: Path, entries: Sequence[str], *, minify: bool) -> int:
    """How many calls of the bundler were for several entries and came to something; raises where
    the answers are not those of as many calls."""
    argv = [str(find_node(ENVIRONMENT)), "--input-type=module", "-e", COMPARE]
    options = bundle_options(locate(root, inputs_of(entries[0]), (".ts",)), inputs_of(entries[0]))
    every = [{**options, "entryPoints": [f"./{name}"], "minify": minify} for name in entries]
    told = [str(BATCHES), str(build_pinned_path(TOOLCHAIN)), json.dumps(every)]
    done = subprocess.run([*argv, *told], check=True, capture_output=True)
    answers = json.loads(done.stdout)
    assert answers["together"] == answers["alone"]
    return int(answers["joined"])


def inputs_of(entry: str) -> BuildInputs:
    return BuildInputs("one", "f", "app/one", entry, "nodejs20.x")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_any_project_builds_the_same_at_once_as_one_by_one(
    seed: int, tmp_path: Path, runtimes: Runtimes
) -> None:
    dice = random.Random(seed)
    begin(tmp_path, dice)
    edits = (CALM, EDIT_KINDS)[seed % 2]
    count = 0
    for _ in range(6):
        for _ in range(20):
            dice.choice(edits)(tmp_path, dice)
        entries = write_entries(tmp_path, dice)
        count += joined(tmp_path, entries, minify=dice.random() < 0.3)
        alone, together = both_ways(runtimes, tmp_path, list(map(inputs_of, entries)))
        assert together == alone
    assert count or edits is not CALM


def test_failing_entry_does_not_fail_others(tmp_path: Path, runtimes: Runtimes) -> None:
    good = {f"api/src/f{n}.ts": f"export const handler = () => {n};" for n in range(8)}
    bad = {f"api/src/b{n}.ts": f'import "./missing-{n}";' for n in range(2)}
    write(tmp_path, {**good, **bad})
    every = [node(name.removeprefix("api/")) for name in [*good, *bad]]
    alone, together = both_ways(runtimes, tmp_path, every)
    assert together == alone
    assert sum(isinstance(one, Built) for one in together) == len(good)


def test_a_warning_belongs_to_the_functions_that_load_its_file(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {f"api/src/f{n}.ts": f"export const handler = () => {n};" for n in range(6)})
    write(tmp_path, {"api/src/odd.ts": "export const handler = (a: number) => a === NaN;"})
    write(tmp_path, {"api/src/f0.ts": 'export { handler } from "./odd";'})
    alone, together = both_ways(runtimes, tmp_path, [node(f"src/f{n}.ts") for n in range(6)])
    assert together == alone
    assert [bool(one.warnings) for one in together if isinstance(one, Built)] == [
        True,
        *[False] * 5,
    ]


def test_source_maps_and_stylesheets_keep_their_names(tmp_path: Path, runtimes: Runtimes) -> None:
    source = 'import "./style.css";\nexport const handler = () => {};'
    write(tmp_path, {f"api/src/f{n}.ts": source.format(n) for n in range(6)})
    write(tmp_path, {"api/src/style.css": "a { top: 1px }"})
    every = [node(f"src/f{n}.ts", sourcemap=n % 2 == 0) for n in range(6)]
    alone, together = both_ways(runtimes, tmp_path, every)
    assert together == alone


def test_computed_import_is_attributed_to_its_function(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, {f"api/src/f{n}.ts": f"export const handler = () => {n};" for n in range(6)})
    write(tmp_path, {"api/src/lib/a.ts": "export const a = 1;"})
    text = "export const handler = (n) => import(`./lib/${n}.ts`);"
    write(tmp_path, {"api/src/f2.ts": text, "api/src/f4.ts": text})
    alone, together = both_ways(runtimes, tmp_path, [node(f"src/f{n}.ts") for n in range(6)])
    assert together == alone


def test_implicit_framework_import_is_attributed_to_its_function(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {f"api/src/f{n}.tsx": f"export const handler = <b>{n}</b>;" for n in range(6)})
    write(tmp_path, {"api/tsconfig.json": '{"compilerOptions": {"jsx": "react-jsx"}}'})
    write(tmp_path, {"node_modules/react/package.json": '{"name": "react", "version": "1.0.0"}'})
    write(tmp_path, {"node_modules/react/jsx-runtime.js": "exports.jsx = (...all) => all;"})
    every = [node(f"src/f{n}.tsx") for n in range(6)]
    alone, together = both_ways(runtimes, tmp_path, every)
    assert together == alone
    assert all(isinstance(one, Built) for one in together)
