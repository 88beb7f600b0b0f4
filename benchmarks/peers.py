"""The peers: installed by name, given the same tree and the same graph, asked what they ran."""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.copygraph import LIBS, Shape, folder, upstream_of
from benchmarks.copyrun import CONFIG
from benchmarks.places import WORK, made, program, run
from benchmarks.rounds import Side
from fabric.runtimes.nodejs.toolchain import PINNED

_PYTHON_PEERS = ("ninja", "doit", "dask")
_MARKS = (".fabric", ".ninja_log", ".ninja_deps", ".doit.db", ".turbo", "node_modules/.cache")


@dataclass(frozen=True, slots=True)
class Tool:
    """How a tool is called in its tree, and how its output tells what ran."""

    name: str
    write: Callable[[Path, Shape], None]
    argv: Callable[[], Sequence[str]]
    ran: Callable[[str], int]
    env: Callable[[Path], Mapping[str, str]] = lambda _: {}


def python_peers() -> Path:
    def make(place: Path) -> None:
        run("python3", "-m", "venv", place)
        run(place / "bin/pip", "install", "--quiet", *_PYTHON_PEERS)

    return made(WORK / "peers", make, " ".join(_PYTHON_PEERS))


def node_peers() -> Path:
    def make(place: Path) -> None:
        (place / "package.json").write_text("{}")
        packages = ("turbo@2", f"esbuild@{PINNED}")
        run("npm", "install", "--no-audit", "--no-fund", *packages, cwd=place)

    return made(WORK / "npm", make, PINNED) / "node_modules"


def tree(tool: Tool, shape: Shape) -> Path:
    """A tool's own copy of the sources, with its own description of the graph."""

    def make(root: Path) -> None:
        from benchmarks.copygraph import write_tree

        write_tree(root, shape)
        tool.write(root, shape)

    return made(WORK / "trees" / f"{shape.services}x{shape.functions}" / tool.name, make)


def side(tool: Tool, shape: Shape, prepare: Callable[[Path], None], expect: int | None) -> Side:
    """A side of a row; it fails if another number of tasks ran than the row is about."""
    root = tree(tool, shape)

    def check(output: str) -> None:
        ran = tool.ran(output)
        if expect not in (None, ran):
            raise SystemExit(f"{tool.name} ran {ran} tasks, not {expect}:\n{output[-2000:]}")

    return Side(tool.name, tool.argv(), root, tool.env(root), lambda: prepare(root), check)


def clear(root: Path) -> None:
    """Outputs, caches and logs away, sources left: the state before a cold run."""
    for name in _MARKS:
        path = root / name
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
    for place in (root / "services").iterdir():
        for path in (*(place / "dist").iterdir(), place / "pkg.zip", place / "deploy.json"):
            path.unlink(missing_ok=True)
        shutil.rmtree(place / ".turbo", ignore_errors=True)


def _write_fabric(root: Path, shape: Shape) -> None:
    config = {"services": shape.services, "functions": shape.functions}
    (root / CONFIG).write_text(json.dumps(config))


def _write_ninja(root: Path, shape: Shape) -> None:
    lines = [
        f"rule cat\n command = cat $in {LIBS[0]} > $out",
        "rule zip\n command = rm -f $out; zip -0qjX $out $in",
        'rule publish\n command = printf \'{"service":"$name"}\' > $out',
    ]
    libs = " ".join(LIBS)
    for service, needs in enumerate(upstream_of(shape.services)):
        here = folder(service)
        outs = [f"{here}/dist/fn_{number}.out" for number in range(shape.functions)]
        lines += [
            f"build {out}: cat {here}/src/fn_{number}.txt | {libs}"
            for number, out in enumerate(outs)
        ]
        above = " ".join(f"{folder(need)}/deploy.json" for need in needs)
        lines.append(f"build {here}/pkg.zip: zip {' '.join(outs)}")
        lines.append(f"build {here}/deploy.json: publish {here}/pkg.zip {above}")
        lines.append(f" name = svc-{service:05d}")
    (root / "build.ninja").write_text("\n".join(lines) + "\n")


def _ninja_ran(output: str) -> int:
    if "no work to do" in output:
        return 0
    found = re.findall(r"\[(\d+)/\d+\]", output)
    return int(found[-1]) if found else -1


_DODO = '''"""Written by benchmarks/peers.py: the graph of the benchmark for doit."""
import json
import zipfile

GRAPH = json.load(open("graph.json"))


def cat(source, out):
    content = open(source, "rb").read() + open(GRAPH["libs"][0], "rb").read()
    with open(out, "wb") as file:
        file.write(content)


def pack(out, files):
    with zipfile.ZipFile(out, "w") as archive:
        for path in files:
            archive.write(path, path.rsplit("/", 1)[1])


def publish(out, name):
    with open(out, "w") as file:
        file.write('{"service":"%s"}' % name)


def outs(service):
    return [f"{service}/dist/fn_{number}.out" for number in range(GRAPH["functions"])]


def task_copy():
    for service in GRAPH["services"]:
        for number, out in enumerate(outs(service)):
            source = f"{service}/src/fn_{number}.txt"
            yield {"name": f"{service}.{number}", "actions": [(cat, (source, out))],
                   "file_dep": [source, *GRAPH["libs"]], "targets": [out]}


def task_zip():
    for service in GRAPH["services"]:
        out = f"{service}/pkg.zip"
        yield {"name": service, "actions": [(pack, (out, outs(service)))],
               "file_dep": outs(service), "targets": [out]}


def task_publish():
    for service, needs in GRAPH["services"].items():
        out = f"{service}/deploy.json"
        above = [f"{need}/deploy.json" for need in needs]
        yield {"name": service, "actions": [(publish, (out, service.rsplit("/", 1)[1]))],
               "file_dep": [f"{service}/pkg.zip", *above], "targets": [out]}
'''


def _write_doit(root: Path, shape: Shape) -> None:
    needs = {
        folder(service): [folder(need) for need in above]
        for service, above in enumerate(upstream_of(shape.services))
    }
    graph = {"services": needs, "functions": shape.functions, "libs": LIBS}
    (root / "graph.json").write_text(json.dumps(graph))
    (root / "dodo.py").write_text(_DODO)


def _doit_ran(output: str) -> int:
    return sum(line.startswith(".  ") for line in output.splitlines())


# npm itself takes a quarter of a second for each task: a stand-in shows turbo alone.
_STAND_IN = """#!/bin/sh
case "$2" in
build*) n=${2#build}; exec cat src/fn_$n.txt ../../lib/lib_0.txt > dist/fn_$n.out ;;
package) rm -f pkg.zip; exec zip -0qjX pkg.zip dist/*.out ;;
publish) printf '{"service":"%s"}' "${PWD##*/}" > deploy.json ;;
*) echo 11.0.0 ;;
esac
"""


def _write_turbo(root: Path, shape: Shape) -> None:
    steps = [*(f"build{number}" for number in range(shape.functions)), "package", "publish"]
    head = {"name": "root", "version": "1.0.0", "workspaces": ["services/*"]}
    packages: dict[str, object] = {"": head}
    for service, needs in enumerate(upstream_of(shape.services)):
        here, name = folder(service), f"svc-{service:05d}"
        above = {f"svc-{need:05d}": "1.0.0" for need in needs}
        own = {"name": name, "version": "1.0.0", "dependencies": above}
        scripts = {step: step for step in steps}
        (root / here / "package.json").write_text(json.dumps({**own, "scripts": scripts}))
        packages[f"node_modules/{name}"] = {"resolved": here, "link": True}
        packages[here] = {"version": "1.0.0", "dependencies": above}
    lock = {**head, "lockfileVersion": 3, "packages": packages}
    (root / "package-lock.json").write_text(json.dumps(lock))
    root_package = {**head, "private": True, "packageManager": "npm@11.0.0"}
    (root / "package.json").write_text(json.dumps(root_package))
    (root / "turbo.json").write_text(json.dumps(_turbo_config(shape.functions)))
    (root / ".gitignore").write_text("dist/\npkg.zip\ndeploy.json\n.turbo\nnode_modules\n")
    stand_in = root / ".stand-in" / "npm"
    stand_in.parent.mkdir()
    stand_in.write_text(_STAND_IN)
    stand_in.chmod(0o755)
    _commit(root)


def _turbo_config(functions: int) -> dict[str, object]:
    builds = [f"build{number}" for number in range(functions)]
    steps: dict[str, object] = {
        step: {"inputs": [f"src/fn_{number}.txt"], "outputs": [f"dist/fn_{number}.out"]}
        for number, step in enumerate(builds)
    }
    steps["package"] = {"dependsOn": builds, "inputs": ["package.json"], "outputs": ["pkg.zip"]}
    above = ["package", "^publish"]
    steps["publish"] = {"dependsOn": above, "inputs": ["package.json"], "outputs": ["deploy.json"]}
    return {"globalDependencies": ["lib/**"], "tasks": steps}


def _commit(root: Path) -> None:
    run("git", "init", "-q", ".", cwd=root)
    run("git", "add", "-A", cwd=root)
    who = ("-c", "user.name=b", "-c", "user.email=b@b")
    run("git", *who, "commit", "-qm", "tree", cwd=root)


def _turbo_ran(output: str) -> int:
    total = re.search(r"Tasks:\s+(\d+) successful", output)
    cached = re.search(r"Cached:\s+(\d+) cached", output)
    return int(total[1]) - int(cached[1]) if total and cached else -1


def turbo_binary() -> str:
    return str(next((node_peers() / "@turbo").glob("*/bin/turbo")))


def _turbo_env(root: Path) -> Mapping[str, str]:
    return {
        "PATH": f"{root}/.stand-in:{os.environ['PATH']}",
        "TURBO_TELEMETRY_DISABLED": "1",
        "TURBO_NO_UPDATE_NOTIFIER": "1",
        "DO_NOT_TRACK": "1",
    }


def _turbo_argv(*more: str) -> Sequence[str]:
    return (turbo_binary(), "run", "publish", "--output-logs=none", *more)


def _fabric_ran(output: str) -> int:
    found = re.match(r"ran (\d+), skipped \d+", output)
    return int(found[1]) if found else -1


def _fabric_argv() -> Sequence[str]:
    return (program("copytool"), "build")


FABRIC = Tool("fabric", _write_fabric, _fabric_argv, _fabric_ran)
NINJA = Tool("ninja", _write_ninja, lambda: (str(python_peers() / "bin/ninja"),), _ninja_ran)
DOIT = Tool("doit", _write_doit, lambda: (str(python_peers() / "bin/doit"),), _doit_ran)
TURBO = Tool("turbo", _write_turbo, _turbo_argv, _turbo_ran, _turbo_env)
