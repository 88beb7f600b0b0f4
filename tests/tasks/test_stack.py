"""Stacks as tasks: when they are deployed, and what the record contains of them."""

from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from fabric.config.template import find_template
from fabric.config.values import Stack, Template, TemplateResource
from fabric.config.yaml.reader import read
from fabric.graph.decide import Action, Decision
from fabric.graph.plan import Known
from fabric.graph.stacks import hash_parameters
from fabric.model.problems import FabricError
from fabric.model.records.record import Mode, Record, StackOutput, StackRecord
from fabric.model.records.record_json import decode, encode
from fabric.model.secrets.secret import Secret
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import StackInputs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    DeployedStack,
    DeploymentAddress,
    StackOrder,
)
from fabric.tasks.deploy_tools import StackValues
from fabric.tasks.stack import StackKind, list_stack_resources
from tests.support.records import record
from tests.tasks.deploys import FAILED, Deploys, FakeDeployer
from tests.tasks.tools import HeldRecord, QuietTools

POLICY = (("onRemove", "keep"), ("protect", "false"))
QUEUE = TemplateResource("Q", "AWS::SQS::Queue", '{"Ref":"Size"}', ("Size",))
STACK = Stack(
    phase="before",
    name="shop-dev",
    template=Template("text", (QUEUE,), ("Url",)),
    parameters=(("Size", "5"),),
)


@dataclass
class StackProvider(FakeDeployer):
    asked: list[StackOrder] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def deploy_stack(
        self, address: DeploymentAddress, order: StackOrder, watch: CallContext = NO_CONTEXT
    ) -> DeployedStack:
        self.asked.append(order)
        if self.error:
            raise self.error
        return DeployedStack("arn:stack", (("Url", f"url-{len(self.asked)}"),))

    def delete_stack(
        self, address: DeploymentAddress, name: str, watch: CallContext = NO_CONTEXT
    ) -> None:
        self.deleted.append(name)


def build_task(stack: Stack = STACK, **changes: object) -> Task:
    inputs = StackInputs(
        service="shop",
        phase=stack.phase,
        provider="cloud1-lambda",
        stage="dev",
        mode=Mode.REAL,
        settings=(("template", stack.template.text),),
        parameters=hash_parameters(stack),
        policy=POLICY,
    )
    return Task(TaskId("stack:shop/before@cloud1-lambda"), replace(inputs, **changes))


def shop(stack: Stack = STACK, *rows: StackRecord) -> Deploys:
    values = StackValues(stack, Secret(stack.parameters), hash_parameters(stack), POLICY)
    held = HeldRecord(record(mode=Mode.REAL, stacks=rows))
    return Deploys(held, StackProvider(), stacks={stack.phase: values})


def provider(deploys: Deploys) -> StackProvider:
    assert isinstance(deploys.provider, StackProvider)
    return deploys.provider


def run(deploys: Deploys, task: Task) -> Record:
    StackKind(deploys.tools()).run(task, {}, QuietTools())
    return deploys.held.record


def judged(deploys: Deploys, task: Task, *, force: bool = False) -> Decision:
    kind = StackKind(deploys.tools(force=force))
    return kind.judge(Known(task, kind.code(task), ()))


def test_a_deployed_stack_is_up_to_date_until_an_input_changes() -> None:
    deploys, task = shop(), build_task()
    assert judged(deploys, task).reason == "first deploy"
    run(deploys, task)
    assert judged(deploys, task).action is Action.SKIP
    assert judged(deploys, task, force=True).reason == "--force was given"
    changed = build_task(replace(STACK, template=Template("other")))
    assert judged(deploys, changed).reason == "template changed"
    policy = (("onRemove", "delete"), ("protect", "false"))
    assert judged(deploys, build_task(policy=policy)).reason == "policy changed"


def test_the_output_of_the_task_is_that_of_the_stack() -> None:
    deploys, task = shop(), build_task()
    first = StackKind(deploys.tools()).run(task, {}, QuietTools())
    known = judged(deploys, task).output
    assert known
    assert first.digest == known.digest
    second = StackKind(deploys.tools()).run(task, {}, QuietTools())
    assert second.digest != first.digest


def test_the_record_has_outputs_and_no_values_of_parameters() -> None:
    deploys = shop()
    row = run(deploys, build_task()).stack("before")
    assert row
    assert (row.address, row.outputs) == ("arn:stack", (StackOutput("Url", "url-1"),))
    [order] = provider(deploys).asked
    assert (order.token, order.parameters.reveal()) == (row.key, (("Size", "5"),))


def test_a_stack_survives_the_form_on_disk() -> None:
    held = run(shop(), build_task())
    assert decode(encode(held), "x") == held


def test_a_failed_first_deploy_leaves_a_stack_that_a_removal_finds() -> None:
    deploys = shop()
    deploys.provider.error = FAILED
    with pytest.raises(FabricError):
        run(deploys, build_task())
    assert deploys.held.record.stacks == (StackRecord(phase="before", name="shop-dev"),)
    assert judged(deploys, build_task()).reason == "result of the last deploy unknown"


def test_a_failed_update_keeps_the_outputs() -> None:
    deploys = shop()
    before = run(deploys, build_task())
    deploys.provider.error = FAILED
    with pytest.raises(FabricError):
        run(deploys, build_task(settings=()))
    assert deploys.held.record.stacks == before.stacks


def test_a_stack_cannot_be_renamed() -> None:
    deploys = shop(STACK, StackRecord(phase="before", name="old"))
    with pytest.raises(FabricError, match="cannot be renamed"):
        run(deploys, build_task())
    assert provider(deploys).asked == []


def test_a_config_that_was_edited_during_the_run_is_not_deployed() -> None:
    with pytest.raises(FabricError, match="was edited during the run"):
        run(shop(), build_task(parameters=()))


def test_a_provider_without_stacks_is_refused() -> None:
    deploys = shop()
    deploys.provider = FakeDeployer()
    with pytest.raises(FabricError, match="only built-in deploys support"):
        run(deploys, build_task())


def test_a_stack_is_deleted_by_its_id_and_once() -> None:
    deploys, task = shop(), build_task(is_removed=True)
    run(deploys, build_task())
    assert judged(deploys, task).reason == "to be deleted"
    assert run(deploys, task).stacks == ()
    assert judged(deploys, task).action is Action.SKIP
    run(deploys, task)
    assert provider(deploys).deleted == ["arn:stack"]


def test_the_hash_of_fixed_properties_covers_only_their_parameters() -> None:
    def fixed(properties: str, size: str = "1", name: str = "a") -> str:
        resource = f"{{Type: 'AWS::SQS::Queue', Properties: {{{properties}}}}}"
        parameters = "{Size: {Type: String}, Name: {Type: String}}"
        text = f"{{Parameters: {parameters}, Resources: {{Q: {resource}}}}}"
        template = find_template(read("", text.encode()).root, lambda _: None)
        [one] = list_stack_resources(template, (("Size", size), ("Name", name)), "salt")
        return one.fixed

    sub = "QueueName: {'Fn::Sub': 'x-${Name}'}, DelaySeconds: {Ref: Size}"
    assert fixed(sub) == fixed(sub, size="2")
    assert fixed(sub) == fixed(sub.replace("DelaySeconds", "MessageRetentionPeriod"))
    assert len({fixed(sub), fixed(sub, name="b"), fixed(""), fixed("QueueName: {Ref: Name}")}) == 4


def test_the_hash_of_a_resource_covers_its_parameters_with_a_salt() -> None:
    def digest(size: str, salt: str = "s") -> str:
        [one] = list_stack_resources(STACK.template, (("Size", size), ("Other", "x")), salt)
        return one.digest

    assert digest("1") == digest("1")
    assert len({digest("1"), digest("2"), digest("1", "t")}) == 3
