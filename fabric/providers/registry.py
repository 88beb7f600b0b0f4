"""The registry of deployers by provider and mode."""

import json
from collections.abc import Callable

from fabric.model.catalog import ProviderFacts, facts_of
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.providers.command import Command, no_deployer
from fabric.providers.connections import Connections
from fabric.providers.contract import Deployer
from fabric.providers.run_command import CommandEnvironment
from fabric.providers.simulated import Simulated


def deployer_of(
    provider_id: str,
    mode: Mode,
    around: CommandEnvironment,
    extension: str = "{}",
    connections: Connections | None = None,
) -> Deployer:
    """Open a deployer. `extension` is the JSON text of the provider's own section of the config.
    `connections` are shared with the other deployers of the run."""
    connections = connections or Connections()
    facts = facts_of(provider_id)
    if facts is None:
        raise FabricError(_unknown(provider_id))
    if mode is Mode.REAL:
        role = _role_problem(facts, around, extension)
        maker = _REAL.get(facts.id)
        if maker is None:
            raise FabricError(*role, no_deployer(facts))
        if role:
            raise FabricError(*role)
        return maker(around, extension, connections)
    return _MAKERS[mode](facts, around)


def _simulated(facts: ProviderFacts, around: CommandEnvironment) -> Deployer:  # noqa: ARG001 - as below
    return Simulated(facts.unit)


def _command(facts: ProviderFacts, around: CommandEnvironment) -> Deployer:
    return Command(
        facts,
        around.env.reveal().get(facts.deploy_command_variable, ""),
        around.env.reveal().get(facts.destroy_command_variable, ""),
        around,
    )


def _cloud1(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:
    from fabric.providers.cloud1.make import cloud1_lambda

    return cloud1_lambda(around, extension, connections)


def _cloud2(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:
    from fabric.providers.cloud2.make import cloud2_functions

    return cloud2_functions(around, extension, connections)


def _edge1(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:
    from fabric.providers.edge1.make import edge1_workers

    return edge1_workers(around, extension, connections)


def _cluster(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - each call is a process of its own
    from fabric.providers.cluster.make import cluster_orchestrator

    return cluster_orchestrator(around, extension)


def _host1(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - there is nothing to set
    from fabric.providers.host1.make import host1_projects

    return host1_projects(around, connections)


def _host2(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - there is nothing to set
    from fabric.providers.host2.make import host2_sites

    return host2_sites(around, connections)


def _cloud4(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:
    from fabric.providers.cloud4.make import cloud4_functions

    return cloud4_functions(around, extension, connections)


def _cloud5(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - there is nothing to set
    from fabric.providers.cloud5.make import cloud5_functions

    return cloud5_functions(around, connections)


def _cloud6(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - there is nothing to set
    from fabric.providers.cloud6.make import cloud6_functions

    return cloud6_functions(around, connections)


_REAL: dict[str, Callable[[CommandEnvironment, str, Connections], Deployer]] = {
    "cloud1-lambda": _cloud1,
    "cloud2-functions": _cloud2,
    "edge1-workers": _edge1,
    "cluster-orchestrator": _cluster,
    "host1": _host1,
    "host2": _host2,
    "cloud4-fc": _cloud4,
    "cloud5-functions": _cloud5,
    "cloud6-functions": _cloud6,
}
REAL_PROVIDERS = tuple(_REAL)
_MAKERS: dict[Mode, Callable[[ProviderFacts, CommandEnvironment], Deployer]] = {
    Mode.SIMULATED: _simulated,
    Mode.COMMAND: _command,
}


def _role_problem(
    facts: ProviderFacts, around: CommandEnvironment, extension: str
) -> tuple[Problem, ...]:
    variable = facts.role_variable
    if not variable or around.env.reveal().get(variable):
        return ()
    if json.loads(extension).get("roleArn"):
        return ()
    return (
        Problem(
            "credentials/role-missing",
            f"real deploys to {facts.title} (`{facts.id}`) require an execution role",
            hint=f"set `{variable}`, or `roleArn` below `extensions.{facts.id}`",
        ),
    )


def _unknown(provider_id: str) -> Problem:
    return Problem(
        "deploy/unknown-provider",
        f"unknown provider `{provider_id}`",
        hint="update fabric: a newer version might have deployed it",
    )
