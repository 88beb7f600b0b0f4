"""A plan and the run after it decide from the same memory, whatever a machine has lost."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Project, handler, service

NAMES = ("one", "two", "three")


def deployed(folder: Path, pad: str = "") -> Project:
    made = project(
        folder, service("shop", *NAMES), {f"{one}.py": source(one, pad) for one in NAMES}
    )
    assert made.fabric("deploy").code == 0
    return made


def source(name: str, pad: str = "") -> str:
    return handler(name) + pad


def nothing(made: Project) -> None:
    del made


def no_cache(made: Project) -> None:
    shutil.rmtree(made.root / ".fabric/cache")


def no_outputs(made: Project) -> None:
    shutil.rmtree(made.root / ".fabric/build")


def a_fresh_machine(made: Project) -> None:
    no_cache(made)
    no_outputs(made)


def pruned(made: Project) -> None:
    assert made.fabric("cache", "prune", "--max-size", "0").code == 0


def pruned_without_outputs(made: Project) -> None:
    pruned(made)
    no_outputs(made)


LOSSES = (nothing, no_cache, no_outputs, a_fresh_machine, pruned, pruned_without_outputs)


def one_edited(made: Project) -> None:
    made.write({"one.py": source("edited")})


def one_variable(made: Project) -> None:
    config = service("shop", *NAMES).replace("one.py}", "one.py, env: {NAME: value}}")
    made.write({"fabric.yml": config})


def one_more(made: Project) -> None:
    made.write({"fabric.yml": service("shop", *NAMES, "four"), "four.py": source("four")})


CHANGES = (nothing, one_edited, one_variable, one_more)


@pytest.mark.parametrize(
    ("verb", "loss", "change"),
    [
        *(("deploy", loss, change) for loss in LOSSES for change in CHANGES),
        *(
            ("package", loss, change)
            for loss in (no_outputs, pruned_without_outputs)
            for change in (nothing, one_edited)
        ),
    ],
)
def test_run_matches_its_plan(
    tmp_path: Path,
    loss: Callable[[Project], None],
    change: Callable[[Project], None],
    verb: str,
) -> None:
    # Some contents are rows of the memo, some are files of their own.
    made = deployed(tmp_path, pad="# " + "x" * 70_000 if verb == "package" else "")
    loss(made)
    change(made)
    planned = {one["id"]: one["action"] for one in made.json("plan", "--for", verb).result["tasks"]}
    ran = statuses(made, verb)
    if not ran:
        assert set(planned.values()) == {"skip"}
        return
    assert ran.keys() == planned.keys()
    for task, action in planned.items():
        allowed = {"run": {"ran"}, "skip": {"skipped"}, "wait": {"ran", "skipped"}}[action]
        assert ran[task] in allowed, (task, action, ran[task])


def statuses(made: Project, verb: str) -> dict[str, str]:
    """How each task ended; empty where nothing was to be done."""
    events = made.root / "events"
    done = made.json(verb, "--events", str(events))
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    return {one["task"]: one["status"] for one in rows if one["type"] == "task_ended"}


def test_fresh_machine_builds_only_what_it_deploys(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    a_fresh_machine(made)
    one_edited(made)
    ran = {task for task, status in statuses(made, "deploy").items() if status == "ran"}
    assert {task for task in ran if task.startswith(("build:", "package:"))} == {
        "build:shop/one",
        "package:shop/one",
    }
    assert made.fabric("plan", "--detailed-exitcode").code == 0


def test_requested_artifacts_are_built_even_if_built_elsewhere_before(
    tmp_path: Path,
) -> None:
    made = deployed(tmp_path)
    a_fresh_machine(made)
    assert made.fabric("deploy", "--out", "copies").code == 0
    assert sorted(path.name for path in (made.root / "copies").rglob("*.zip")) == [
        "one.zip",
        "three.zip",
        "two.zip",
    ]


def test_a_stored_plan_is_not_given_once_its_outputs_were_pruned(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    no_outputs(made)
    for _ in range(2):
        assert "No changes" in made.fabric("plan", "--for", "build").out
    pruned(made)
    result = made.json("plan", "--for", "build").result
    assert {one["action"] for one in result["tasks"]} == {"run"}
