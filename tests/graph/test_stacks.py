"""CloudFormation stacks as tasks: their order, and which functions their outputs affect."""

from msgspec.structs import replace

from fabric.graph.compile import compile_graph
from fabric.graph.judge import build_wanted
from fabric.graph.service_unit import ServiceUnit
from fabric.graph.undo import plan_removal
from fabric.model.names import Verb
from fabric.model.records.record import StackRecord
from fabric.model.task import Task
from fabric.model.task_id import TaskId, passes_output
from fabric.model.task_inputs import DeployInputs, ReleaseInputs, StackInputs, uses_output
from tests.config.test_stacks import OPTIONAL, PARAMETERS, TEMPLATE, config
from tests.support.config_texts import HEAD, ONE, loaded
from tests.support.records import function, record

LABEL = "cloud1-lambda"
BEFORE, AFTER = f"stack:shop/before@{LABEL}", f"stack:shop/after@{LABEL}"
DEPLOY, RELEASE = f"deploy:shop/a@{LABEL}", f"release:shop@{LABEL}"
HOOKS = "hooks: {'before:deploy': echo, 'after:deploy': echo}\n"


def tasks(text: str) -> dict[str, Task]:
    unit = ServiceUnit(loaded(text, {"KEY": "value-of-it"}), "")
    return {one.id: one for one in compile_graph([unit], Verb.DEPLOY).tasks}


def inputs(text: str, task: str = BEFORE) -> StackInputs:
    found = tasks(text)[task].inputs
    assert isinstance(found, StackInputs)
    return found


def test_stacks_are_before_the_deploys_and_after_the_release() -> None:
    found = tasks(config(TEMPLATE, TEMPLATE, more=HOOKS))
    assert found[BEFORE].needs == ("package:shop/a",)
    assert BEFORE in found[DEPLOY].needs
    assert found[AFTER].needs == (RELEASE, BEFORE)


def test_a_stack_uses_no_output_of_packages_and_releases() -> None:
    assert passes_output(BEFORE, "stack", inputs(config(TEMPLATE, TEMPLATE), AFTER).uses)
    assert inputs(config(TEMPLATE)).uses == ()
    assert passes_output(BEFORE, "deploy")
    assert not passes_output("package:shop/a", "stack")
    assert not passes_output(RELEASE, "stack")


def test_only_functions_that_use_outputs_have_them_in_their_key() -> None:
    upstream = (("package:shop/a", "p"), (BEFORE, "s"))
    for env, seen in (("URL: '${stack:Url}'", 2), ("URL: other", 1)):
        deploy = tasks(config(TEMPLATE, env=env))[DEPLOY].inputs
        assert isinstance(deploy, DeployInputs)
        wanted = build_wanted(deploy, deploy.functions[0], (), upstream)
        assert len(wanted.upstream) == seen


def test_only_functions_that_use_outputs_wait_for_their_values() -> None:
    for env, is_used in (("URL: '${stack:Url}'", True), ("URL: other", False)):
        deploy = tasks(config(TEMPLATE, env=env))[DEPLOY].inputs
        assert uses_output(BEFORE, deploy) is is_used
        assert uses_output("stack:net/before@cloud1-lambda", deploy)
        assert uses_output("package:shop/a", deploy)


def test_a_stack_changes_no_key_of_functions_and_releases() -> None:
    plain = {task: one.inputs.entries() for task, one in tasks(f"{HEAD}{ONE}").items()}
    extended = HEAD + f"extensions: {{cloud1-lambda: {{stack: {{before: {{{TEMPLATE}}}}}}}}}\n{ONE}"
    with_stack = {task: one.inputs.entries() for task, one in tasks(extended).items()}
    without = HEAD + "extensions: {cloud1-lambda: {}}\n" + ONE
    empty = {task: one.inputs.entries() for task, one in tasks(without).items()}
    del with_stack[BEFORE]
    assert with_stack == empty
    assert set(plain) == set(empty)
    assert isinstance(tasks(extended)[RELEASE].inputs, ReleaseInputs)


def test_template_parameters_and_tags_are_in_the_key_and_the_policy_is_not() -> None:
    first = inputs(config(TEMPLATE))
    for more in ("tags: {a: b}", "roleArn: 'arn:a'", "name: other"):
        assert inputs(config(f"{TEMPLATE}, {more}")).entries() != first.entries()
    one, other = (inputs(config(f"{OPTIONAL}, parameters: {{Key: {key}}}")) for key in "ab")
    assert one.entries() != other.entries()
    assert inputs(config(TEMPLATE.replace("Url", "Uri"))).entries() != first.entries()
    kept = inputs(config(f"{TEMPLATE}, onRemove: delete, protect: true, allowReplace: [Q]"))
    assert (kept.entries(), kept.policy) == (
        first.entries(),
        (("onRemove", "delete"), ("protect", "true")),
    )


def test_a_graph_contains_no_values_of_parameters() -> None:
    text = config(OPTIONAL + ", parameters: {Key: '${secret:KEY}'}")
    assert "value-of-it" not in repr(tasks(text))


def test_protected_stages_protect_their_stacks() -> None:
    text = config(TEMPLATE, more="stages: {dev: {protected: true}}\n")
    assert dict(inputs(text).policy)["protect"] == "true"


def test_a_removal_deletes_the_last_stack_first_and_the_first_one_last() -> None:
    rows = tuple(
        StackRecord(phase=phase, name=phase, on_remove="delete") for phase in ("before", "after")
    )
    held = record(functions=(function("a"),), stacks=rows)
    order = [task.id for task in plan_removal(held)]
    remove = f"remove:shop/a@{LABEL}"
    assert order == [AFTER, remove, f"remove:shop@{LABEL}", BEFORE]
    found: dict[str, tuple[TaskId, ...]] = {one.id: one.needs for one in plan_removal(held)}
    assert (found[remove], found[BEFORE]) == ((AFTER,), (f"remove:shop@{LABEL}",))
    kept = replace(held, stacks=tuple(replace(one, on_remove="keep") for one in rows))
    assert BEFORE not in [task.id for task in plan_removal(kept)]


def test_the_last_stack_waits_for_outputs_that_it_uses() -> None:
    found = tasks(config(TEMPLATE, f"{OPTIONAL}, {PARAMETERS}"))
    assert BEFORE in found[AFTER].needs
