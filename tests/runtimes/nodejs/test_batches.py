"""Which builds join a batch, told by a bundler that only counts its calls."""

import json
import subprocess
from pathlib import Path

from fabric.runtimes.nodejs import bundler
from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT

BATCHES = Path(bundler.__file__).with_name("batches.mjs")
SCRIPT = """
const { Batches } = await import(process.argv[1]);
const requests = JSON.parse(process.argv[2]);
const calls = [];
async function build({ entryPoints, outdir, outfile, absWorkingDir }) {
  const names = entryPoints.map((one) => one.in ?? one);
  calls.push(names);
  if (names.includes("bad")) throw new Error("bad");
  const outs = entryPoints.map((one) => (one.out ? `${one.out}.js` : outfile));
  return {
    outputFiles: outs.map((out, at) => ({ path: `${absWorkingDir}/${out}`, contents: names[at] })),
    metafile: {
      inputs: Object.fromEntries(names.map((name) => [name, { imports: [] }])),
      outputs: Object.fromEntries(
        outs.map((out, at) => [out, { entryPoint: names[at], inputs: {} }]),
      ),
    },
    warnings: [],
  };
}
const batches = new Batches();
const asked = requests.map(({ name, version = "0.25.1", ...more }) => batches.ask({
  bundler: { version, build }, folder: "here",
  options: { absWorkingDir: "/at", entryPoints: [name], outfile: `${name}.js`, ...more },
}));
const settled = await Promise.allSettled(asked);
const plain = ({ path, contents }) => [path, contents];
const answers = settled.map(({ value }) => value ? plain(value.files[0]) : null);
console.log(JSON.stringify({ calls, answers }));
"""


def told(*requests: dict[str, object]) -> tuple[list[list[str]], list[list[str] | None]]:
    """The entries of each call, and each request's file with its content."""
    node = str(find_node(ENVIRONMENT))
    argv = [node, "--input-type=module", "-e", SCRIPT, str(BATCHES), json.dumps(requests)]
    done = subprocess.run(argv, check=True, capture_output=True)
    document = json.loads(done.stdout)
    return document["calls"], document["answers"]


def named(*names: str, **more: object) -> list[dict[str, object]]:
    return [{"name": name, **more} for name in names]


def test_queued_builds_are_batched_into_one_call() -> None:
    calls, answers = told(*named("a", "b", "c"))
    assert calls == [["a", "b", "c"]]
    assert answers == [[f"/at/{name}.js", name] for name in "abc"]


def test_functions_of_one_entry_share_its_bundle() -> None:
    calls, answers = told(*named("a", "b", "a"))
    assert calls == [["a", "b"]]
    assert answers == [[f"/at/{name}.js", name] for name in "aba"]


def test_builds_with_other_options_are_a_separate_call() -> None:
    calls, _ = told(*named("a", "b"), *named("c", "d", minify=True))
    assert calls == [["a", "b"], ["c", "d"]]


def test_a_batch_that_fails_is_built_one_by_one() -> None:
    calls, answers = told(*named("a", "bad", "c"))
    assert calls == [["a", "bad", "c"], ["a"], ["bad"], ["c"]]
    assert answers == [["/at/a.js", "a"], None, ["/at/c.js", "c"]]


def test_source_maps_wildcards_and_older_bundlers_are_built_one_by_one() -> None:
    odd = [*named("a", "b", sourcemap=True), *named("*", "**"), *named("c", "d", version="0.24.2")]
    calls, _ = told(*odd)
    assert sorted(calls) == [["*"], ["**"], ["a"], ["b"], ["c"], ["d"]]


def test_batches_are_bounded() -> None:
    calls, answers = told(*named(*(f"e{number}" for number in range(100))))
    assert max(map(len, calls)) == 32
    assert len(calls) == 4
    assert [answer and answer[1] for answer in answers] == [f"e{number}" for number in range(100)]
