"""Commands of a config as tasks: their needs, and what counts for others."""

import pytest

from fabric.graph.compile import compile_graph
from fabric.graph.service_unit import ServiceUnit
from fabric.model.names import Verb
from fabric.model.problems import FabricError
from fabric.model.task import Task
from fabric.model.task_id import passes_output
from fabric.model.task_inputs import BeforeInputs, HookInputs
from tests.support.config_texts import HEAD, loaded

TWO = f"{HEAD}functions: {{a: {{entry: a.ts}}, b: {{entry: b.ts}}}}\n"
STEPS = """\
build:
  before:
    - {name: one, command: a, outputs: [x]}
    - {name: two, command: b $FABRIC_STAGE, outputs: [y]}
    - {name: three, command: c, inputs: [x, y], outputs: [z]}
hooks:
  after-build: [{name: after, command: d}]
  before-package: [{name: check, command: e}]
  after-package: [{name: packed, command: f}]
  before-deploy: [{name: migrate, command: g}]
  before-release: [{name: pause, command: h}]
  after-release: [{name: resume, command: i}]
  after-deploy: [{name: tell, command: j}]
"""


def tasks(verb: Verb, text: str = TWO + STEPS) -> dict[str, Task]:
    graph = compile_graph([ServiceUnit(loaded(text), "")], verb)
    return {one.id: one for one in graph.tasks}


@pytest.mark.parametrize(
    ("root", "inputs", "refused"),
    [
        ("a/b", "../../x/*", False),
        ("a/b", "'!../../../x'", True),
        ("", "../../../../etc/hostname", True),
        (".", "src/../..", True),
        (".", "src/../../x", True),
    ],
)
def test_inputs_above_the_workspace_are_rejected(root: str, inputs: str, refused: bool) -> None:  # noqa: FBT001
    step = f"build: {{before: [{{name: a, command: b, inputs: [src/**, {inputs}]}}]}}\n"
    unit = ServiceUnit(loaded(TWO + step), root)
    if not refused:
        assert compile_graph([unit], Verb.BUILD)
        return
    with pytest.raises(FabricError, match="of the step `a` is not in the workspace") as caught:
        compile_graph([unit], Verb.BUILD)
    [problem] = caught.value.problems
    assert problem.where is not None
    assert (problem.code, problem.where.line) == ("config/bad-pattern", 4)


def needs(found: dict[str, Task], name: str) -> set[str]:
    return set(found[name].needs)


def test_builds_need_all_steps_and_each_step_those_before_it() -> None:
    found = tasks(Verb.BUILD)
    before = [f"before:shop/{name}" for name in ("one", "two", "three")]
    assert needs(found, "build:shop/a") == {*before}
    assert [needs(found, one) for one in before] == [set(), {before[0]}, {*before[:2]}]
    assert needs(found, "before:shop/after") == {*before, "build:shop/a", "build:shop/b"}
    assert "before:shop/check" not in found


def test_packages_wait_for_steps_after_builds() -> None:
    found = tasks(Verb.PACKAGE)
    waits = {"before:shop/after", "before:shop/check"}
    assert needs(found, "package:shop/a") == {"build:shop/a", *waits}
    assert {"package:shop/a", "package:shop/b"} < needs(found, "before:shop/packed")


def test_hooks_stand_around_deploys_and_releases() -> None:
    found = tasks(Verb.DEPLOY)
    at = "@cloud1-lambda"
    deploy, release = f"deploy:shop/a{at}", f"release:shop{at}"
    assert {f"hook:shop/migrate{at}", "before:shop/packed"} < needs(found, deploy)
    assert f"hook:shop/pause{at}" in needs(found, release)
    assert {"package:shop/a", "package:shop/b"} < needs(found, f"hook:shop/migrate{at}")
    assert deploy in needs(found, f"hook:shop/pause{at}")
    assert needs(found, f"hook:shop/tell{at}") == {release, f"hook:shop/resume{at}"}


def test_a_config_without_steps_has_no_further_tasks() -> None:
    assert {one.partition(":")[0] for one in tasks(Verb.DEPLOY, TWO)} == {
        "build", "package", "deploy", "release",
    }  # fmt: skip


def test_only_builds_and_steps_use_outputs_of_steps() -> None:
    kinds = ("before", "build", "package", "deploy", "release")
    used = [kind for kind in kinds if passes_output("before:shop/one", kind)]
    assert used == ["before", "build"]
    assert not any(passes_output("hook:shop/migrate", kind) for kind in kinds)
    assert all(passes_output("package:shop/a", kind) for kind in kinds)


def test_outputs_are_no_inputs_unless_an_earlier_step_writes_a_named_one() -> None:
    found = tasks(Verb.BUILD)
    inputs = list_inputs(found)
    assert inputs["one"].ignore == ("/x", "/y", "/z")
    assert inputs["three"].ignore == ("/z",)


def test_only_a_command_that_names_the_stage_has_it_in_its_key() -> None:
    found = tasks(Verb.BUILD)
    stages = {name: one.stage for name, one in list_inputs(found).items()}
    assert stages == {"one": "", "two": "dev", "three": "", "after": ""}
    names = {entry.name for entry in found["before:shop/one"].inputs.entries()}
    assert names == {"service", "command", "inputs", "outputs", "ignore"}


def list_inputs(found: dict[str, Task]) -> dict[str, BeforeInputs]:
    inputs = (one.inputs for one in found.values())
    return {one.name: one for one in inputs if isinstance(one, BeforeInputs)}


def test_a_selected_function_brings_the_steps_of_its_service() -> None:
    unit = ServiceUnit(loaded(TWO + STEPS), "")
    graph = compile_graph([unit], Verb.BUILD, functions=frozenset({"b"}))
    assert "before:shop/three" in graph.ids
    none = compile_graph([unit], Verb.DEPLOY, functions=frozenset({"other"}))
    assert not [one for one in none.ids if one.startswith("before:")]


@pytest.mark.parametrize(
    ("task_id", "line"),
    [("before:shop/two", 7), ("before:shop/check", 11), ("hook:shop/tell@cloud1-lambda", 16)],
)
def test_a_command_has_its_place_in_the_config(task_id: str, line: int) -> None:
    inputs = tasks(Verb.DEPLOY)[task_id].inputs
    assert isinstance(inputs, BeforeInputs | HookInputs)
    assert inputs.place[:2] == ("fabric.yml", line)
    assert "place" not in {one.name for one in inputs.entries()}
