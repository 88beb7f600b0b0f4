"""Workflows as tasks: their order, their keys, and what they leave alone."""

from msgspec.structs import replace

from fabric.graph.compile import compile_graph
from fabric.graph.service_unit import ServiceUnit
from fabric.graph.undo import plan_removal, plan_rollback
from fabric.graph.workflows import fill_definition, find_machine
from fabric.model.names import Verb
from fabric.model.records.record import Mode, WorkflowRecord
from fabric.model.task import Task
from fabric.model.task_inputs import WorkflowInputs
from tests.config.test_workflows import MACHINE, SUBSTITUTED, config
from tests.support.config_texts import HEAD, ONE, loaded
from tests.support.records import function, record

LABEL = "cloud1-lambda"
FLOW, DEPLOY = f"workflow:shop/flow@{LABEL}", f"deploy:shop/api@{LABEL}"
RELEASE, BEFORE = f"release:shop@{LABEL}", f"stack:shop/before@{LABEL}"
ENTRY = f"definition: {MACHINE}, {SUBSTITUTED}"
STACK = (
    "extensions: {cloud1-lambda: {stack: {before: {template: "
    "{Resources: {Q: {Type: 'AWS::SQS::Queue'}}, Outputs: {Url: {Value: x}}}}}}}\n"
)


def tasks(text: str, mode: str = "") -> dict[str, Task]:
    unit = ServiceUnit(loaded(text), "", mode or Mode.SIMULATED)
    return {one.id: one for one in compile_graph([unit], Verb.DEPLOY).tasks}


def inputs(entry: str) -> WorkflowInputs:
    found = tasks(config(entry))[FLOW].inputs
    assert isinstance(found, WorkflowInputs)
    return found


def test_a_workflow_is_between_the_deploys_and_the_release() -> None:
    found = tasks(config(ENTRY))
    assert found[FLOW].needs == (DEPLOY,)
    assert FLOW in found[RELEASE].needs


def test_a_workflow_uses_the_stack_only_if_it_has_outputs_of_it() -> None:
    late = ENTRY.replace("{Note: x}", "{Note: '${stack:Url}'}")
    assert BEFORE in tasks(config(late) + STACK)[FLOW].needs
    assert BEFORE in tasks(config(f"{ENTRY}, role: '${{stack:Url}}'") + STACK)[FLOW].needs
    trigger = "{type: eventbus, bus: '${stack:Url}', pattern: {source: [shop]}}"
    assert BEFORE in tasks(config(f"{ENTRY}, triggers: [{trigger}]") + STACK)[FLOW].needs
    assert BEFORE not in tasks(config(ENTRY) + STACK)[FLOW].needs


def test_a_workflow_changes_no_key_of_functions_and_releases() -> None:
    plain = {task: one.inputs.entries() for task, one in tasks(f"{HEAD}{ONE}").items()}
    found = {task: one.inputs.entries() for task, one in tasks(config(ENTRY)).items()}
    del found[FLOW]
    assert found == plain


def test_everything_of_a_workflow_is_in_its_key() -> None:
    first = inputs(ENTRY).entries()
    for more in (
        *("type: express", "permissions: [AWSLambda_FullAccess]", "tracing: active"),
        *("logs: {level: ALL}", "triggers: [{type: cron, schedule: rate(1 day)}]"),
        "role: 'arn:aws:iam::1:role/x'",
    ):
        assert inputs(f"{ENTRY}, {more}").entries() != first
    assert inputs(ENTRY.replace("Note: x", "Note: y")).entries() != first
    assert (
        inputs(ENTRY.replace("A: {", "B: {").replace("StartAt: A", "StartAt: B")).entries() != first
    )


def test_a_custom_command_has_no_workflow_tasks() -> None:
    assert FLOW not in tasks(config(ENTRY), Mode.COMMAND)


def test_substitutions_are_texts_inside_of_json() -> None:
    machine = find_machine(loaded(config(ENTRY.replace("Note: x", "Note: 'a \"b\"'"))), "flow")
    assert machine
    assert '"Result":"a \\"b\\""' in fill_definition(machine, {})


def test_workflows_are_deleted_before_the_functions_that_they_call() -> None:
    rows = (WorkflowRecord(name="flow", version="1"),)
    held = record(functions=(function("api"),), workflows=rows)
    assert [one.id for one in plan_removal(held)] == [
        FLOW,
        f"remove:shop/api@{LABEL}",
        f"remove:shop@{LABEL}",
    ]
    [target] = held.history
    newer = replace(held, workflows=(*rows, WorkflowRecord(name="new")))
    order = [one.id for one in plan_rollback(newer, target)]
    assert order[-1] == f"workflow:shop/new@{LABEL}"
    newer = replace(newer, functions=(*held.functions, function("called")))
    last = {str(one.id): one for one in plan_rollback(newer, target)}
    assert f"workflow:shop/new@{LABEL}" in last[f"remove:shop/called@{LABEL}"].needs
