"""The simulated provider: it changes nothing and returns the names that a real provider would
use."""

from collections.abc import Mapping, Sequence

from fabric.model.catalog import DeployUnit
from fabric.model.records.changes import name_workflow_output
from fabric.model.task import Pairs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    Deployed,
    DeployedStack,
    DeployedWorkflow,
    DeploymentAddress,
    FunctionOrder,
    LayerOrder,
    LiveFunction,
    LiveFunctions,
    Released,
    StackOrder,
    Unsupported,
    WorkflowDraft,
    WorkflowOrder,
)
from fabric.providers.core.deployer import UnqueriedDeployer
from fabric.providers.core.own_arns import locate_stand_ins
from fabric.providers.core.triggers import (
    build_function_endpoint,
    choose_function_name,
    format_resource_name,
)

DEFAULT_REGION = "local"
_MARK = 12


class Simulated(UnqueriedDeployer, frozen=True):
    """A simulated deployer. Names depend only on the deployment address, so they are equal on any
    machine."""

    unit: DeployUnit

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002 - the protocol
    ) -> Deployed:
        return Deployed(tuple(_simulate_function(address, order) for order in functions))

    def release(
        self,
        address: DeploymentAddress,
        functions: LiveFunctions,
        given: Pairs,
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002 - the protocol
    ) -> Released:
        endpoint = _build_endpoint(address)
        # Those of functions are computed again, because a function can have lost its trigger.
        kept = {name: text for name, text in given if not name.startswith(("url_", "arn_"))}
        outputs = {"url": endpoint, "region": _choose_region(address), **kept}
        for one in functions:
            if one.endpoint:
                outputs[f"url_{one.name}"] = one.endpoint
            outputs[f"arn_{one.name}"] = one.resource_id
        for row in address.previous.workflows if address.previous else ():
            outputs[name_workflow_output(row.name)] = row.address
        return Released(endpoint, tuple(outputs.items()))

    def locate_own(self, address: DeploymentAddress, names: Sequence[str]) -> Mapping[str, str]:
        """Return addresses that stand for the real ones."""
        return locate_stand_ins(names, address)

    def publish_layer(
        self,
        address: DeploymentAddress,
        order: LayerOrder,
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002 - the protocol
    ) -> str:
        name = format_resource_name(address, order.name)
        region = _choose_region(address)
        return f"{address.provider_id}:{region}:layer:{name}:{order.mark[:_MARK]}"

    def delete_layers(
        self,
        address: DeploymentAddress,  # noqa: ARG002 - the protocol
        layers: Sequence[str],
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002
    ) -> Sequence[str]:
        return layers

    def deploy_stack(
        self,
        address: DeploymentAddress,
        order: StackOrder,
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002 - the protocol
    ) -> DeployedStack:
        """Return outputs that stand for the real ones, which only a deploy shows."""
        there = f"{address.provider_id}:{_choose_region(address)}:stack:{order.name}"
        return DeployedStack(there, tuple((name, f"{there}:{name}") for name in order.outputs))

    def delete_stack(
        self, address: DeploymentAddress, name: str, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete nothing."""

    def find_unfit_workflows(
        self,
        address: DeploymentAddress,  # noqa: ARG002 - the protocol
        workflows: Sequence[WorkflowDraft],  # noqa: ARG002
    ) -> Sequence[Unsupported]:
        return ()

    def deploy_workflow(
        self,
        address: DeploymentAddress,
        order: WorkflowOrder,
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002 - the protocol
    ) -> DeployedWorkflow:
        name = f"workflow:{order.name}.arn"
        there = locate_stand_ins((name,), address)[name]
        return DeployedWorkflow(there, f"{there}:{order.mark[:_MARK]}")

    def delete_workflow(
        self, address: DeploymentAddress, name: str, watch: CallContext = NO_CONTEXT
    ) -> None:
        """Delete nothing."""


def _simulate_function(address: DeploymentAddress, order: FunctionOrder) -> LiveFunction:
    name = choose_function_name(address, order.name)
    return LiveFunction(
        name=order.name,
        resource_name=name,
        resource_id=f"{address.provider_id}:{_choose_region(address)}:function:{name}",
        endpoint=build_function_endpoint(_build_endpoint(address), order.triggers),
        artifact_sha256=order.artifact.sha256,
    )


def _build_endpoint(address: DeploymentAddress) -> str:
    return f"https://{address.service}-{address.stage}.{address.provider_id}.fabric.example"


def _choose_region(address: DeploymentAddress) -> str:
    return address.region or DEFAULT_REGION
