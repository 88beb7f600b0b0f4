"""What a command loads before it works: budgets in modules, which no slow machine can blur."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.cli.commands_table import COMPOSE, GENERATE, ROOT
from tests.support.project import environment, project

HEAVY = {"networkx", "yaml", "jsonschema", "diskcache", "sqlite3", "httpx", "boto3", "bottle",
         "packaging",
         "fabric.system.http.server", "fabric.daemon.application"}  # fmt: skip
COMMANDS = (
    (),
    *((row.name,) for row in ROOT),
    *(("compose", row.name) for row in COMPOSE),
    *(("generate", row.name) for row in GENERATE),
    *(("cache", name) for name in ("stats", "verify", "prune")),
    *(("runs", name) for name in ("list", "show")),
)
HELP = """
import json, sys
from fabric.cli.main import run
code = run(sys.argv[1:])
sys.stderr.write(json.dumps([code, sorted(sys.modules)]))
"""
DAEMON = HELP.replace("fabric.cli.main", "fabric.cli.daemon.main")
ANSWER = """
import sys
from fabric import stage_zero
code = stage_zero.answer(sys.argv[1:])
sys.stderr.write(repr([code, sorted(sys.modules)]).replace("'", '"').replace("None", "null"))
"""
SERVER = """
import json, sys
import fabric.daemon.process.detached
sys.stderr.write(json.dumps([0, sorted(sys.modules)]))
"""
NOTHING = """
import sys
sys.stderr.write(repr([0, [*sys.modules]]).replace("'", '"'))
"""


def loaded(program: str, *words: str, cwd: Path, home: Path) -> tuple[int | None, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=cwd,
        env=environment(home),
        capture_output=True,
        text=True,
        check=True,
    )
    code, names = json.loads(done.stderr.splitlines()[-1])
    return code, set(names)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_loads_click_and_nothing_heavy(words: tuple[str, ...], tmp_path: Path) -> None:
    code, modules = loaded(HELP, *words, "--help", cwd=tmp_path, home=tmp_path)
    assert code == 0
    assert "click" in modules
    assert modules & HEAVY == set()


@pytest.mark.parametrize(
    "words",
    [("biuld",), ("plan", "--stag"), ("compose", "biuld", "--json")],
    ids=" ".join,
)
def test_a_slip_is_answered_without_the_engine(words: tuple[str, ...], tmp_path: Path) -> None:
    code, modules = loaded(HELP, *words, cwd=tmp_path, home=tmp_path)
    assert code == 64
    assert modules & HEAVY == set()


@pytest.mark.parametrize("words", [("--help",), ("status",), ("stop",)], ids=" ".join)
def test_only_serving_commands_import_the_server(words: tuple[str, ...], tmp_path: Path) -> None:
    code, modules = loaded(DAEMON, *words, cwd=tmp_path, home=tmp_path)
    assert code == (3 if words == ("status",) else 0)
    assert modules & HEAVY == set()


def test_a_server_without_a_cache_loads_no_client_of_redis(tmp_path: Path) -> None:
    _, modules = loaded(SERVER, cwd=tmp_path, home=tmp_path)
    assert "bottle" in modules
    assert modules & {"redis", "asyncio", "networkx"} == set()


@pytest.mark.parametrize("words", [("build",), ("package", "--json"), ("plan", "--for", "build")])
def test_an_answer_that_is_known_loads_next_to_nothing(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    code, modules = None, set[str]()
    for _ in range(5):  # what was saved in the very tick of a run is not relied on
        assert made.fabric(*words).code == 0
        code, modules = loaded(ANSWER, *words, cwd=made.root, home=made.home)
        if code is not None:
            break
    assert code == 0
    _, bare = loaded(NOTHING, cwd=made.root, home=made.home)
    unwanted = {"click", "json", "pathlib", "re", "hashlib", "typing", "collections", *HEAVY}
    assert (modules - bare) & unwanted == set()
    assert {one for one in modules - bare if one.startswith("fabric")} == {
        "fabric",
        "fabric.cache_seal",
        "fabric.stage_zero",
        "fabric.interrupts",
        "fabric.manifest",
        "fabric.ownership",
    }


def test_a_new_project_and_a_plan_look_for_no_plug_in_and_load_no_picker(tmp_path: Path) -> None:
    quiet = HELP.replace("code =", "sys.stderr = open('talk', 'w')\ncode =").replace(
        "sys.stderr.write", "sys.__stderr__.write"
    )
    words = ("init", "--template", "http", "--provider", "host3-machines", "--lang", "py")
    begun, for_init = loaded(quiet, *words, "--service", "shop", cwd=tmp_path, home=tmp_path)
    planned, for_plan = loaded(quiet, "plan", cwd=tmp_path, home=tmp_path)
    assert (begun, planned) == (0, 0)
    assert for_init & {*HEAVY, "importlib.metadata"} == set()
    ours = ("fabric.cli.picker", "fabric.system.plugins")
    assert [one for one in for_init | for_plan if one.startswith(ours)] == []


@pytest.mark.parametrize("runtime", ["nodejs22.x", "python3.12"])
def test_a_build_without_python_packages_parses_no_requirements(
    runtime: str, tmp_path: Path
) -> None:
    config = f"service: s\nprovider: {{name: cloud1-lambda, runtime: {runtime}}}\n"
    files = {"one.py": "def handler(event, context): ...\n", "one.js": "exports.handler = 1\n"}
    entry = "one.py" if runtime.startswith("python") else "one.js"
    made = project(tmp_path, f"{config}functions: [{{name: one, entry: {entry}}}]\n", files)
    code, modules = loaded(HELP, "build", "--json", cwd=made.root, home=made.home)
    assert code == 0
    assert "networkx" in modules
    assert "packaging" not in modules
