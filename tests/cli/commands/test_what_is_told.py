"""What plans, runs and their files say: nothing that will not be, and all that is worth a word."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.in_process import compose, project
from tests.support.project import PYTHON, Project, handler
from tests.support.tool import Tool


def without_two(made: Project) -> None:
    text = "".join(line for line in PYTHON.splitlines(keepends=True) if "two" not in line)
    made.write({"fabric.yml": text})


def test_a_plan_of_some_functions_announces_no_removal_that_the_run_will_not_do(
    tmp_path: Path,
) -> None:
    made = project(tmp_path)
    third = "  - {name: third, entry: src/one.py}\n"
    made.write({"fabric.yml": PYTHON + third})
    assert made.fabric("deploy").code == 0
    without_two(made)
    made.write({"fabric.yml": (made.root / "fabric.yml").read_text() + third})
    some = made.json("plan", "--function", "one").result["services"][0]["functions"]
    assert "delete" not in {one["change"] for one in some}
    everything = made.json("plan").result["services"][0]["functions"]
    assert ("two", "delete") in [(one["name"], one["change"]) for one in everything]


def test_a_removal_by_the_deploy_of_a_whole_service_is_announced(tmp_path: Path) -> None:
    made, tool = project(tmp_path), Tool(tmp_path / "tool")
    assert made.fabric("deploy", env=tool.env()).code == 0
    without_two(made)
    rows = made.json("plan", env=tool.env()).result["services"][0]["functions"]
    assert ("two", "delete") in [(one["name"], one["change"]) for one in rows]


def test_profile_is_written_and_reported_even_if_nothing_runs(tmp_path: Path) -> None:
    made = project(tmp_path)
    busy = made.fabric("deploy", "--profile", "busy.json")
    assert "critical path of " in busy.err
    assert "deploy:shop/" in busy.err.rpartition("critical path")[2]
    idle = made.fabric("deploy", "--profile", "idle.json")
    assert "critical path: none (no task ran)" in idle.err
    assert isinstance(json.loads((made.root / "idle.json").read_text()), dict)


@pytest.mark.parametrize("option", ["--profile", "--junit", "--events"])
@pytest.mark.parametrize("path", ["src", "fabric.yml/file"])
def test_a_file_that_cannot_be_written_is_found_before_the_run(
    option: str, path: str, tmp_path: Path
) -> None:
    made = project(tmp_path)
    done = made.json("deploy", option, path)
    assert done.code == 73
    assert "result" not in done.document
    assert made.json("state", "list").result["records"] == []


def test_reason_after_a_revert_names_only_the_differences(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    made.write({"src/one.py": handler("other")})
    assert made.fabric("build").code == 0
    first = "from shared import WORD\n\n\ndef handler(event, context):\n    return WORD\n"
    made.write({"src/one.py": first})
    assert made.fabric("build").code == 0
    made.write({"src/shared.py": "WORD = 'new'\n"})
    done = made.json("explain", "build:shop/one")
    assert [one["name"] for one in done.result["changed"]] == ["src/shared.py"]


def failing(folder: Path) -> dict[str, str]:
    (folder / "fails.py").write_text("raise SystemExit('no')\n")
    line = shlex.join([sys.executable, str(folder / "fails.py")])
    return {"FABRIC_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": line}


def test_explain_after_a_failed_first_deploy_names_no_changed_field(tmp_path: Path) -> None:
    made = project(tmp_path)
    env = failing(tmp_path)
    assert made.fabric("deploy", env=env).code == 1
    told = made.json("explain", "deploy:shop@cloud1-lambda", env=env)
    assert told.result["changed"] == []
    assert "unknown" in told.result["reason"]


def test_a_wrong_answer_of_a_command_is_quoted_itself(tmp_path: Path) -> None:
    made = project(tmp_path)
    script = "import sys\nprint('not JSON at all')\nprint('deploying', file=sys.stderr)\n"
    (tmp_path / "odd.py").write_text(script)
    line = shlex.join([sys.executable, str(tmp_path / "odd.py")])
    done = made.json("deploy", env={"FABRIC_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": line})
    assert done.error["code"] == "deploy/command-output"
    assert done.error["message"].endswith(": not JSON at all")


def test_a_plan_as_json_has_every_warning(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"fabric.yml": f"{PYTHON}hooks: {{a: b}}\n"})
    [warning] = made.json("plan").result["warnings"]
    assert warning["code"] == "config/no-effect"
    assert warning["where"]["file"] == "fabric.yml"


def test_compose_plan_takes_a_number_of_looks_at_once(tmp_path: Path) -> None:
    made = compose(tmp_path, shop=(), site=())
    assert made.fabric("compose", "plan", "--concurrency", "1").code == 0
    assert made.json("compose", "plan", "--concurrency", "0").code == 64


def test_remove_names_overrides_with_their_own_backend(tmp_path: Path) -> None:
    made = project(tmp_path)
    spare = "providerOverrides: {spare: {name: edge1-workers, backend: {kind: sql}}}\n"
    made.write({"fabric.yml": PYTHON + spare})
    assert made.fabric("deploy").code == 0
    done = made.fabric("remove")
    assert "remove/other-back-end" in done.err
    assert "fabric remove --provider spare" in done.err


def test_folders_below_dot_fabric_are_private_to_their_owner(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    folders = [path for path in (made.root / ".fabric").rglob("*") if path.is_dir()]
    assert folders
    assert {oct(path.stat().st_mode & 0o777) for path in folders} == {"0o700"}


def test_traces_go_along_when_state_moves(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    done = made.json("state", "migrate", "--from", "local", "--to", "sql")
    assert done.code == 0
    made.write({"fabric.yml": f"{PYTHON}backend: {{kind: sql}}\n"})
    for name in ("cache", "build"):
        (made.root / ".fabric" / name).rename(tmp_path / name)
    assert made.json("plan").result["summary"]["run"] == 0
