"""Deploys and removals as the daemon runs them: what is on record and what is told of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fabric.app.deploy.deploy import DeployOptions, deploy
from fabric.app.deploy.remove import RemoveOptions, remove
from fabric.app.request import Request
from fabric.daemon.runs.run_queue import RunWork
from fabric.engine.bus import MakeListeners
from fabric.model.names import Verb
from fabric.model.outcomes.json_struct import Json
from fabric.model.report import Report
from tests.daemon.runs.begun_runs import Keeper, kinds, numbers
from tests.support.project import PYTHON
from tests.support.tool import Tool
from tests.support.until import SECONDS, until
from tests.support.use_cases import Workplace, workplace

CANARY = "canary-yellow-4711"
SECRETIVE = (
    PYTHON
    + """\
secrets: {API: '${env:VAULT}'}
env: {KEY: '${secret:API}'}
"""
)


def keeper_of(place: Workplace) -> Keeper:
    return Keeper(place.root / ".fabric/daemon")


def deploying(place: Workplace, seconds: float = SECONDS) -> RunWork:
    settings = place.settings

    def work(make_listeners: MakeListeners) -> Report:
        request = Request(Verb.DEPLOY, "deploy")
        return deploy(request, settings, DeployOptions(lock_timeout=seconds), make_listeners)

    return work


def removing(place: Workplace) -> RunWork:
    settings = place.settings

    def work(make_listeners: MakeListeners) -> Report:
        options = RemoveOptions(SECONDS, lambda _: True)
        return remove(Request(Verb.DEPLOY, "remove"), settings, options, make_listeners)

    return work


def ended(keeper: Keeper, work: RunWork) -> tuple[str, Mapping[str, Json], Sequence[str]]:
    """The status of a run, what it came to, and the kinds of its events."""
    run = keeper.runs.begin("deploy", "shop", "dev", work)
    told = list(keeper.runs.stream(run))
    assert numbers(told) == list(range(1, len(numbers(told)) + 1))
    found = keeper.runs.get(run)
    return found.status.value, found.result or {}, kinds(told)


def test_a_deploy_one_with_nothing_to_do_and_a_removal_are_on_record(tmp_path: Path) -> None:
    place = workplace(tmp_path)
    keeper = keeper_of(place)
    status, result, told = ended(keeper, deploying(place))
    deployments = result["deployments"]
    assert isinstance(deployments, Sequence)
    assert (status, len(deployments)) == ("succeeded", 1)
    assert (told[0], told[-1], told.count("run_ended")) == ("run_started", "run_ended", 1)
    assert "task_started" in told
    status, result, told = ended(keeper, deploying(place))
    assert (status, told[0], told[-1]) == ("succeeded", "run_started", "run_ended")
    assert "task_started" not in told
    status, result, told = ended(keeper, removing(place))
    removed = result["removed"]
    assert isinstance(removed, Sequence)
    assert (status, len(removed), told[-1]) == ("succeeded", 1, "run_ended")
    assert len(keeper.runs.list()) == 3
    journals = {path.stem for path in (tmp_path / ".fabric/runs").iterdir()}
    newest, idle, oldest = (one.id for one in keeper.runs.list())
    assert journals == {newest, oldest}, f"{idle} had nothing to tell"


def test_a_deploy_that_is_refused_has_its_reason_and_its_end(tmp_path: Path) -> None:
    place = workplace(tmp_path)
    place.write({"fabric.yml": "service: [\n"})
    keeper = keeper_of(place)
    status, result, told = ended(keeper, deploying(place))
    assert (status, result, told) == ("failed", {}, ["run_ended"])
    error = keeper.runs.get(keeper.runs.list()[0].id).error
    assert error is not None
    assert str(error["code"]).startswith("config/")


def hanging(folder: Path) -> tuple[Workplace, Tool]:
    tool = Tool(folder / "tool")
    tool.waits()
    return workplace(folder / "shop", **tool.env()), tool


def test_stopped_deploy_kills_only_its_own_commands(tmp_path: Path) -> None:
    (place, tool), (other, its_tool) = hanging(tmp_path / "one"), hanging(tmp_path / "two")
    keeper = keeper_of(place)
    run = keeper.runs.begin("deploy", "shop", "dev", deploying(place))
    beside = keeper.runs.begin("deploy", "other", "dev", deploying(other))
    until(lambda: tool.is_running and its_tool.is_running)
    keeper.runs.stop(run)
    assert (keeper.status(run), keeper.code(run)) == ("cancelled", "run/interrupted")
    until(lambda: not tool.is_running)
    assert its_tool.is_running
    its_tool.answers({"endpoint": "https://live.example"})
    assert keeper.status(beside) == "succeeded"


def test_lock_held_by_another_process_is_reported(tmp_path: Path) -> None:
    place, tool = hanging(tmp_path)
    first, second = keeper_of(place), Keeper(tmp_path / "elsewhere")
    run = first.runs.begin("deploy", "shop", "dev", deploying(place))
    until(lambda: tool.is_running)
    late = second.runs.begin("deploy", "shop", "dev", deploying(place, 0))
    assert (second.status(late), second.code(late)) == ("failed", "lock/held")
    tool.answers({"endpoint": "https://live.example"})
    assert first.status(run) == "succeeded"


def test_secrets_are_neither_recorded_nor_streamed(tmp_path: Path) -> None:
    place = workplace(tmp_path, VAULT=CANARY)
    place.write({"fabric.yml": SECRETIVE})
    keeper = keeper_of(place)
    assert ended(keeper, deploying(place))[0] == "succeeded"
    place.write({"src/two.py": "def handler(:\n"})
    assert ended(keeper, deploying(place))[0] == "failed"
    texts = [path.read_text() for path in (tmp_path / ".fabric/daemon/runs").iterdir()]
    assert len(texts) == 4
    assert not any(CANARY in text for text in texts)
    assert all(json.loads(line) for text in texts for line in text.splitlines())
