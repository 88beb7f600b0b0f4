"""Hooks of deploys and releases: when they run, what they receive, and what their failure means."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import PYTHON, Project
from tests.support.tool import Tool

HOOKS = """\
hooks:
  before-deploy:
    - {name: migrate, command: sh note.sh migrate}
  "after:deploy": [sh note.sh told]
  before-release:
    - {name: pause, command: sh note.sh pause}
  after-release:
    - {name: resume, command: sh note.sh resume}
"""
NOTE = (
    'echo "$1 $FABRIC_SERVICE $FABRIC_STAGE $FABRIC_PROVIDER $FABRIC_ENDPOINT" >> "$HOME/notes"\n'
)
ORDER = ["migrate", "pause", "resume", "told"]


def shop(folder: Path, hooks: str = HOOKS) -> Project:
    made = project(folder / "shop", PYTHON + hooks)
    made.write({"note.sh": NOTE})
    return made


def simulated(hooks: str = HOOKS) -> str:
    return hooks.replace("}\n", ", simulated: true}\n").replace(
        "[sh note.sh told]", "[{command: sh note.sh told, simulated: true}]"
    )


def notes(made: Project) -> list[list[str]]:
    path = made.home / "notes"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def names(made: Project) -> list[str]:
    return [words[0] for words in notes(made)]


def test_hooks_run_around_each_deploy_that_changes_something(tmp_path: Path) -> None:
    made, tool = shop(tmp_path), Tool(tmp_path / "tool")
    assert made.fabric("deploy", env=tool.env()).code == 0
    assert names(made) == ORDER
    assert made.fabric("deploy", env=tool.env()).code == 0
    assert names(made) == ORDER
    made.write({"src/two.py": "def handler(event, context):\n    return 2\n"})
    assert made.fabric("deploy", env=tool.env()).code == 0
    assert names(made) == [*ORDER, *ORDER]
    assert made.fabric("remove", "--yes", env=tool.env()).code == 0
    assert names(made) == [*ORDER, *ORDER]


def test_hooks_after_a_release_receive_its_outputs(tmp_path: Path) -> None:
    made = shop(tmp_path, simulated())
    assert made.fabric("deploy").code == 0
    found = {words[0]: words[1:] for words in notes(made)}
    assert found["migrate"] == ["shop", "dev", "cloud1-lambda"]
    assert found["told"] == [*found["migrate"], "https://shop-dev.cloud1-lambda.fabric.example"]


def test_simulated_deploys_run_only_hooks_that_ask_for_it(tmp_path: Path) -> None:
    made = shop(tmp_path)
    done = made.fabric("deploy")
    assert done.code == 0
    assert "not run, because the deploy is simulated" in done.err
    assert notes(made) == []


def test_secrets_appear_neither_in_output_nor_in_stored_runs(tmp_path: Path) -> None:
    command = "sh -c 'echo $API_TOKEN $KEPT; echo $API_TOKEN >&2; exit 3'"
    hooks = f'hooks: {{before-deploy: [{{name: a, command: "{command}", simulated: true}}]}}\n'
    config = "secrets: {S: '${env:KEPT}'}\nenv: {S: '${secret:S}'}\n"
    made = shop(tmp_path, hooks + config)
    env = {"API_TOKEN": "canary-token", "KEPT": "canary-kept"}
    done = made.fabric("deploy", env=env)
    assert "exited with code 3" in done.err
    assert "[REDACTED]" in done.err
    assert "canary" not in done.err + done.out
    stored = [path for path in (made.root / ".fabric").rglob("*") if path.is_file()]
    assert stored
    assert not [path for path in stored if b"canary" in path.read_bytes()]


def test_plans_name_the_hooks(tmp_path: Path) -> None:
    made = shop(tmp_path, simulated())

    def actions() -> Mapping[str, str]:
        tasks = made.json("plan").result["tasks"]
        return {one["id"]: one["action"] for one in tasks if one["kind"] == "hook"}

    hooks = [f"hook:shop/{name}@cloud1-lambda" for name in ("migrate", "pause", "resume")]
    assert {*hooks} < {*actions()}
    assert made.fabric("package").code == 0
    assert actions()[hooks[0]] == "run"
    explained = made.json("explain", hooks[0]).result
    assert (explained["action"], explained["reason"]) == ("run", "first deploy")
    assert made.fabric("deploy").code == 0
    assert set(actions().values()) == {"skip"}


def test_a_failed_hook_before_a_deploy_stops_it(tmp_path: Path) -> None:
    made = shop(tmp_path, HOOKS.replace("sh note.sh migrate", "sh -c 'exit 3'"))
    tool = Tool(tmp_path / "tool")
    failed = made.json("deploy", env=tool.env())
    assert failed.error["code"] == "step/failed"
    assert "exited with code 3" in failed.error["message"]
    assert tool.calls == []
    assert names(made) == []


@pytest.mark.parametrize("options", [(), ("--rollback-on-failure",)])
def test_a_failed_hook_after_a_deploy_is_an_error_without_a_rollback(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    broken = HOOKS.replace("[sh note.sh told]", "[sh -c 'exit 3']")
    made, tool = shop(tmp_path, broken), Tool(tmp_path / "tool")
    failed = made.json("deploy", *options, env=tool.env())
    assert failed.code != 0
    assert failed.document["ok"] is False
    assert {one["change"] for one in changes(made, tool)} == {"none"}
    assert made.fabric("deploy", env=tool.env()).code == 0
    assert len(tool.calls) == 1


def changes(made: Project, tool: Tool) -> list[dict[str, str]]:
    [row] = made.json("plan", env=tool.env()).result["services"]
    found: list[dict[str, str]] = row["functions"]
    return found
