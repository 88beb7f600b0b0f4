"""Limits of real deploys: warnings for simulated services, because their deploys succeed."""

from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Project

_LIMIT = "plan/provider-limit"
_FILES = "{arn: 'arn:aws:elasticfilesystem:r:1:access-point/a', path: /mnt/a}"
_WRONG = f"fileSystem: {_FILES}"


def shop(folder: Path, settings: str, tail: str = "") -> Project:
    made = project(folder, sources={"api.py": "def handler(event, context):\n    return {}\n"})
    head = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.12}\n"
    function = f"functions:\n  - {{name: api, entry: api.py, {settings}}}\n"
    made.write({"fabric.yml": head + function + tail})
    return made


@pytest.mark.parametrize("command", ["plan", "validate"])
def test_a_combination_that_aws_rejects_is_a_warning(command: str, tmp_path: Path) -> None:
    done = shop(tmp_path, _WRONG).json(command)
    assert done.code == 0
    assert f"warning[{_LIMIT}] fabric.yml:4:" in done.err
    assert "a real deploy would fail: function `api` has a file system" in done.err


@pytest.mark.parametrize("command", ["plan", "validate"])
def test_a_setting_of_a_workflow_that_aws_rejects_is_a_warning(
    command: str, tmp_path: Path
) -> None:
    machine = "{StartAt: A, States: {A: {Type: Pass, End: true}}}"
    flow = f"{{name: flow, definition: {machine}, logs: {{level: ALL, retentionDays: 13}}}}"
    done = shop(tmp_path, "memory: 128", f"workflows: [{flow}]\n").json(command)
    assert done.code == 0
    assert f"warning[{_LIMIT}] fabric.yml:5:" in done.err
    assert "a real deploy would fail: workflow `flow` keeps logs for 13 days" in done.err


def test_a_simulated_deploy_succeeds_all_the_same(tmp_path: Path) -> None:
    made = shop(tmp_path, _WRONG)
    assert made.json("deploy").code == 0
    assert made.json("plan", "--strict").code == 0


@pytest.mark.parametrize(
    "settings",
    [
        "triggers: [{type: http, route: 'GET:/x'}]",
        "triggers: [{type: logstream, stream: '${ssm:/stream}', startingPosition: LATEST}]",
        "triggers: [{type: queue, queue: work}], layers: ['arn:aws:lambda:eu:1:layer:a:1']",
    ],
)
def test_services_that_fit_and_values_that_are_not_read_give_no_warning(
    settings: str, tmp_path: Path
) -> None:
    assert _LIMIT not in shop(tmp_path, settings).fabric("plan").err
