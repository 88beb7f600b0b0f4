"""A run that loses its lock while a call is under way: what it left behind is not passed over."""

import os
import signal
import subprocess
from pathlib import Path

from tests.support.in_process import project
from tests.support.project import Done, Project, ended, handler
from tests.support.tool import Tool
from tests.support.until import until

_NOTE = ".fabric/unsure/shop/dev/cloud1-lambda.json"


def _lost(tmp_path: Path) -> tuple[Project, Tool, dict[str, str], subprocess.Popen[str]]:
    """One deploy is stopped inside of its call; another one takes over and is done."""
    made, tool = project(tmp_path), Tool(tmp_path / "tool")
    env = {**tool.env(), "FABRIC_LOCK_LEASE": "2"}
    assert made.json("deploy", env=env).code == 0
    tool.waits()
    made.write({"src/two.py": handler("late")})
    first = made.start("deploy", "--json", env=env)
    until(lambda: (tool.folder / "marker").exists(), "the first does not reach its tool")
    os.kill(first.pid, signal.SIGSTOP)
    tool.answers({"endpoint": "https://live.example"})
    made.write({"src/two.py": handler("taken over")})
    assert made.json("deploy", "--lock-timeout", "30s", env=env).code == 0
    assert made.json("plan", "--detailed-exitcode", env=env).code == 0
    return made, tool, env, first


def _states(plan: Done) -> dict[str, list[str]]:
    rows = [one for row in plan.document["result"]["services"] for one in row["functions"]]
    return {one["name"]: one["fields"].get("state") for one in rows}


def test_result_of_a_late_call_is_unknown_until_the_next_deploy(
    tmp_path: Path,
) -> None:
    made, tool, env, first = _lost(tmp_path)
    os.kill(first.pid, signal.SIGCONT)
    late = ended(first)
    assert "state/lock-lost" in {one["code"] for one in late.error["problems"]}
    plan = made.json("plan", "--detailed-exitcode", env=env)
    assert (plan.code, _states(plan)["two"]) == (2, ["unknown", "deployed"])
    assert "unknown" in made.fabric("state", "show", env=env).out
    calls = len(tool.calls)
    assert made.json("deploy", env=env).code == 0
    assert len(tool.calls) == calls + 1, "it was not called again"
    assert made.json("plan", "--detailed-exitcode", env=env).code == 0


def test_result_that_could_not_be_recorded_is_stored_on_this_machine(tmp_path: Path) -> None:
    made, tool, env, first = _lost(tmp_path)
    tool.waits()
    (tool.folder / "marker").unlink()
    third = made.start("deploy", "--force", "--json", env=env)
    until(lambda: (tool.folder / "marker").exists(), "the third does not reach its tool")
    os.kill(first.pid, signal.SIGCONT)
    codes = {one["code"] for one in ended(first).error["problems"]}
    assert {"state/lock-lost", "state/unknown-here"} <= codes
    assert (made.root / _NOTE).exists()
    tool.answers({"endpoint": "https://live.example"})
    assert ended(third).code == 0
    plan = made.json("plan", "--detailed-exitcode", env=env)
    assert (plan.code, _states(plan)["two"]) == (2, ["unknown", "deployed"])
    assert made.json("deploy", env=env).code == 0
    assert not (made.root / _NOTE).exists()
    assert made.json("plan", "--detailed-exitcode", env=env).code == 0
