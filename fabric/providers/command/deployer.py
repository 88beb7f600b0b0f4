"""Deploy with a custom command: run it once per service and read the JSON object that it prints."""

from collections.abc import Iterable, Sequence

from fabric.model.catalog import DeployUnit, ProviderFacts
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.command.documents import deploy_order, read_output, remove_order
from fabric.providers.command.run import Call, CommandOutput, run_line
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    Deployed,
    DeploymentAddress,
    FunctionOrder,
    LiveFunction,
    LiveFunctions,
    Released,
)
from fabric.providers.core.deployer import UnqueriedDeployer
from fabric.providers.core.payloads import (
    deploy_documents,
    deploy_words,
    destroy_documents,
    destroy_words,
)
from fabric.providers.core.provider import CommandEnvironment
from fabric.providers.core.redaction import Redaction, build_redaction
from fabric.providers.core.triggers import build_function_endpoint, choose_function_name
from fabric.system.process.bounded_process import Overheard


class Command(UnqueriedDeployer, frozen=True):
    """A deployer that runs custom commands. Either line can be empty; a call that needs it reports
    the variable to set."""

    facts: ProviderFacts
    deploy_line: str
    destroy_line: str
    around: CommandEnvironment

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.SERVICE

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        if not self.deploy_line.strip():
            raise FabricError(no_deployer_problem(self.facts))
        redaction = self._build_redaction(
            pair for order in functions for pair in order.env.reveal()
        )
        variable = self.facts.deploy_command_variable
        call = Call(variable, self.deploy_line, "deploy/command-failed", redaction)
        told = CommandOutput(
            deploy_words(address, functions),
            deploy_documents(address, functions),
            deploy_order(address, functions),
        )
        heard = run_line(call, told, self.around, watch)
        outputs = _read_outputs(call, heard, functions)
        live = tuple(_build_live_function(address, order, dict(outputs)) for order in functions)
        return Deployed(live, outputs)

    def release(
        self,
        address: DeploymentAddress,
        functions: LiveFunctions,
        given: Pairs,
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002 - the protocol
    ) -> Released:
        """Do nothing: the deploy command has done everything already."""
        outputs = dict(given)
        endpoint = _find_endpoint(outputs)
        if address.region:
            outputs.setdefault("region", address.region)
        for one in functions:
            outputs.setdefault(f"arn_{one.name}", one.resource_id)
            if one.endpoint:
                outputs.setdefault(f"url_{one.name}", one.endpoint)
        return Released(endpoint, tuple(outputs.items()))

    def destroy(
        self,
        address: DeploymentAddress,
        functions: LiveFunctions,
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002 - the protocol
    ) -> None:
        raise TypeError(
            f"a custom command deletes all of {address.service}, not {len(functions)} of its "
            "functions"
        )

    def dissolve(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> None:
        variable = self.facts.destroy_command_variable
        if not self.destroy_line.strip():
            raise FabricError(_no_destroy_command_problem(address, variable))
        call = Call(variable, self.destroy_line, "remove/command-failed", self._build_redaction(()))
        told = CommandOutput(
            destroy_words(address, functions),
            destroy_documents(address, functions),
            remove_order(address, functions),
        )
        run_line(call, told, self.around, watch)

    def _build_redaction(self, variables: Iterable[tuple[str, str]]) -> Redaction:
        return build_redaction(
            self.around.hide.reveal(), (*self.around.env.reveal().items(), *variables)
        )


def no_deployer_problem(facts: ProviderFacts) -> Problem:
    return Problem(
        "deploy/no-deployer",
        f"real deploys to {facts.title} (`{facts.id}`) are not built in",
        hint=f"set `{facts.deploy_command_variable}` to a deploy command, or unset "
        f"`{facts.real_deploy_variable}` and `FABRIC_REAL_DEPLOY` to simulate",
    )


def _no_destroy_command_problem(address: DeploymentAddress, variable: str) -> Problem:
    return Problem(
        "remove/no-destroy-command",
        f"`{address.service}` on `{address.label}` was deployed by a custom command, and no "
        "delete command is set",
        hint=f"set `{variable}` to a delete command",
    )


def _read_outputs(call: Call, heard: Overheard, functions: Sequence[FunctionOrder]) -> Pairs:
    try:
        answer = read_output(heard.stdout)
    except ValueError as error:
        what = f"must write one JSON object with `endpoint` or `url`, but its output {error}"
        hint = "see the expected output: fabric schema deploy-answer"
        said = call.redaction.text(heard.stdout)
        raise call.problem(what, said, "deploy/command-output", hint) from error
    named = (f"{kind}_{order.name}" for kind in ("url", "arn") for order in functions)
    return call.redaction.outputs(answer, frozenset(named))


def _find_endpoint(outputs: dict[str, str]) -> str:
    return outputs.get("endpoint", outputs.get("url", ""))


def _build_live_function(
    address: DeploymentAddress, order: FunctionOrder, outputs: dict[str, str]
) -> LiveFunction:
    """Build the state of one function from outputs `arn_<function>` and `url_<function>`, or from
    names."""
    name = choose_function_name(address, order.name)
    return LiveFunction(
        name=order.name,
        resource_name=name,
        resource_id=outputs.get(f"arn_{order.name}", name),
        endpoint=outputs.get(f"url_{order.name}")
        or build_function_endpoint(_find_endpoint(outputs), order.triggers),
        artifact_sha256=order.artifact.sha256,
    )
