"""A protected stage is changed by those who say its name, and looked at by all."""

from pathlib import Path

import pytest

from fabric.app.deploy.production_guard import confirm_stage
from fabric.app.project.project import open_project
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.model.problems import FabricError
from tests.support.in_process import project
from tests.support.project import Project, handler, service

CONFIRMED = {"FABRIC_CONFIRM": "prod"}


def shop(folder: Path) -> Project:
    made = project(folder)
    stages = "stages: {prod: {protected: true}, 'prod-*': {protected: true}}\n"
    text = service("shop", "one") + stages
    made.write({"fabric.yml": text, "one.py": handler("one")})
    return made


def deployed(folder: Path) -> Project:
    """Twice, so that there is something to go back to."""
    made = shop(folder)
    for answer in ("one", "two"):
        made.write({"one.py": handler(answer)})
        assert made.json("deploy", "--stage", "prod", env=CONFIRMED).code == 0
    made.write({"one.py": handler("three")})
    return made


@pytest.mark.parametrize("words", [("deploy",), ("remove", "--yes"), ("rollback",)])
def test_protected_stage_changes_only_if_its_name_is_confirmed(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    made = deployed(tmp_path)
    state = made.root / ".fabric/state/shop/prod/cloud1-lambda.state.json"
    before = state.read_bytes()
    for env in ({}, {"FABRIC_CONFIRM": "dev"}, {"FABRIC_CONFIRM": "1"}):
        done = made.json(*words, "--stage", "prod", env=env)
        assert (done.code, done.error["code"]) == (64, "usage/protected-stage")
    assert state.read_bytes() == before
    assert made.json(*words, "--stage", "prod", env=CONFIRMED).code == 0


def test_other_stages_and_read_only_commands_need_no_confirmation(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    assert made.json("deploy").code == 0
    assert made.json("plan", "--stage", "prod").code == 0
    assert made.json("build", "--stage", "prod").code == 0
    assert made.json("deploy", "--stage", "prod-eu").error["code"] == "usage/protected-stage"


def test_nothing_to_do_needs_no_confirmation(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    made.write({"one.py": handler("two")})
    assert made.json("deploy", "--stage", "prod").code == 0


@pytest.mark.parametrize(("word", "is_taken"), [("prod", True), ("", False), ("yes", False)])
def test_the_name_may_be_typed(word: str, is_taken: bool, tmp_path: Path) -> None:  # noqa: FBT001
    made = shop(tmp_path)
    settings = Settings({}, made.root, 1, stdout_is_terminal=False, stderr_is_terminal=False)
    units = open_project(Where(stage="prod"), settings).units
    if is_taken:
        confirm_stage(units, "prod", settings, lambda _: word)
        return
    with pytest.raises(FabricError) as caught:
        confirm_stage(units, "prod", settings, lambda _: word)
    assert caught.value.first.code == "usage/protected-stage"
