"""What only a process of its own shows of a deploy: what it may not touch, and how it is killed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.model.catalog import PROVIDER_IDS
from tests.support.in_process import project
from tests.support.project import PYTHON, PYTHON_SOURCES, Project, environment, handler
from tests.support.tool import Tool
from tests.support.until import until

ROUTE = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: src/one.handler, triggers: [{type: http, route: "GET:/one"}]}
  - {name: two, entry: src/two.handler}
"""


def deployed(tmp_path: Path, config: str = ROUTE) -> Project:
    made = project(tmp_path, config)
    assert made.json("deploy").code == 0
    return made


_NO_WRITES = """\
import os
import sys

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.link", "os.symlink", "os.truncate"}

def refuse(event, args):
    writes = event == "open" and args[2] and args[2] & (os.O_WRONLY | os.O_RDWR)
    # What it just found out is kept in the cache, for the next time that it is asked.
    if (writes or event in CHANGES) and "/.fabric/cache" not in str(args[0]):
        raise RuntimeError(f"a change where none may be: {event} {args[0]}")

sys.addaudithook(refuse)
sys.argv = ["fabric", *sys.argv[1:]]
from fabric.__main__ import main
main()
"""


def test_deploy_with_nothing_to_do_takes_no_lock_and_writes_no_file(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    # Without -B the interpreter itself writes, wherever a module was never imported before.
    words = [sys.executable, "-B", "-c", _NO_WRITES, "deploy", "--json"]
    env = environment(made.home)
    for _ in range(2):
        done = subprocess.run(words, cwd=made.root, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert json.loads(done.stdout)["result"]["summary"]["ran"] == 0
    made.write({"src/one.py": handler("newer")})
    done = subprocess.run(words, cwd=made.root, env=env, capture_output=True, check=False)
    assert b"a change where none may be" in done.stdout, "the guard sees what a real deploy does"


_NO_SOCKETS = """\
import sys

def refuse(event, args):
    if event.startswith("socket."):
        raise RuntimeError(f"{event} in a simulated run")

sys.addaudithook(refuse)
from fabric.cli.main import run
codes = [run([*words.split(), "--json"]) for words in sys.argv[1:]]
sys.stderr.write(f"codes: {codes}")
"""


@pytest.mark.parametrize("provider", PROVIDER_IDS)
def test_a_simulated_run_opens_no_socket(provider: str, tmp_path: Path) -> None:
    made = project(tmp_path, PYTHON.replace("cloud1-lambda", provider))
    commands = ("plan", "deploy", "state reconcile", "rollback", "remove")
    done = subprocess.run(
        [sys.executable, "-c", _NO_SOCKETS, *commands],
        cwd=made.root, env=environment(made.home), capture_output=True, check=True,
    )  # fmt: skip
    assert b"simulated run" not in done.stdout + done.stderr
    # Without an earlier release there is nothing to go back to.
    assert done.stderr.endswith(b"codes: [0, 0, 0, 1, 0]")


def kill_in_the_middle(made: Project, tool: Tool, *words: str) -> None:
    """Start a deploy whose command hangs, and kill it once the command was called."""
    before = len(tool.calls)
    tool.hangs()
    child = made.start("deploy", *words, env=tool.env())
    until(lambda: len(tool.calls) > before)
    child.kill()
    child.communicate()
    tool.answers({"endpoint": "https://live.example"})


def test_call_with_an_unknown_result_is_repeated(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    made.json("deploy", env=tool.env())
    made.write({"src/one.py": handler("newer")})
    kill_in_the_middle(made, tool)
    made.write({"src/one.py": PYTHON_SOURCES["src/one.py"]})
    assert made.json("deploy", "--function", "two", env=tool.env()).code == 0
    plan = made.json("plan", env=tool.env()).result
    assert plan["services"][0]["functions"][0]["fields"] == {"state": ["unknown", "deployed"]}
    functions = made.json("deploy", env=tool.env()).result["deployments"][0]["functions"]
    assert [one["status"] for one in functions] == ["updated", "unchanged"]


def test_a_killed_run_takes_its_command_with_it(tmp_path: Path) -> None:
    made, tool = project(tmp_path, ROUTE), Tool(tmp_path / "tool")
    kill_in_the_middle(made, tool)
    assert made.json("deploy", env=tool.env()).code == 0
    assert not tool.is_running
