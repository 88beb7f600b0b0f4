"""The registry of deployers by provider and mode."""

import json
from collections.abc import Callable

from fabric.model.catalog import ProviderFacts, find_provider_facts
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.providers.command import Command, no_deployer_problem
from fabric.providers.connections import Connections
from fabric.providers.contract import Deployer
from fabric.providers.run_command import CommandEnvironment
from fabric.providers.simulated import Simulated


def open_deployer(
    provider_id: str,
    mode: Mode,
    around: CommandEnvironment,
    extension: str = "{}",
    connections: Connections | None = None,
) -> Deployer:
    """Open a deployer. `extension` is the JSON text of the provider's own section of the config.
    `connections` are shared with the other deployers of the run."""
    connections = connections or Connections()
    facts = find_provider_facts(provider_id)
    if facts is None:
        raise FabricError(_unknown_provider_problem(provider_id))
    if mode is Mode.REAL:
        role = _find_role_problems(facts, around, extension)
        maker = _REAL.get(facts.id)
        if maker is None:
            raise FabricError(*role, no_deployer_problem(facts))
        if role:
            raise FabricError(*role)
        return maker(around, extension, connections)
    return _MAKERS[mode](facts, around)


def _open_simulated(facts: ProviderFacts, around: CommandEnvironment) -> Deployer:  # noqa: ARG001 - as below
    return Simulated(facts.unit)


def _open_command(facts: ProviderFacts, around: CommandEnvironment) -> Deployer:
    return Command(
        facts,
        around.env.reveal().get(facts.deploy_command_variable, ""),
        around.env.reveal().get(facts.destroy_command_variable, ""),
        around,
    )


def _open_cloud1(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:
    from fabric.providers.cloud1.make import open_cloud1_deployer

    return open_cloud1_deployer(around, extension, connections)


def _open_cloud2(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:
    from fabric.providers.cloud2.make import open_cloud2_deployer

    return open_cloud2_deployer(around, extension, connections)


def _open_edge1(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:
    from fabric.providers.edge1.make import open_edge1_deployer

    return open_edge1_deployer(around, extension, connections)


def _open_cluster(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - each call is a process of its own
    from fabric.providers.cluster.make import open_cluster_deployer

    return open_cluster_deployer(around, extension)


def _open_host1(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - there is nothing to set
    from fabric.providers.host1.make import open_host1_deployer

    return open_host1_deployer(around, connections)


def _open_host2(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - there is nothing to set
    from fabric.providers.host2.make import open_host2_deployer

    return open_host2_deployer(around, connections)


def _open_cloud4(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:
    from fabric.providers.cloud4.make import open_cloud4_deployer

    return open_cloud4_deployer(around, extension, connections)


def _open_cloud5(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - there is nothing to set
    from fabric.providers.cloud5.make import open_cloud5_deployer

    return open_cloud5_deployer(around, connections)


def _open_cloud6(around: CommandEnvironment, extension: str, connections: Connections) -> Deployer:  # noqa: ARG001 - there is nothing to set
    from fabric.providers.cloud6.make import open_cloud6_deployer

    return open_cloud6_deployer(around, connections)


_REAL: dict[str, Callable[[CommandEnvironment, str, Connections], Deployer]] = {
    "cloud1-lambda": _open_cloud1,
    "cloud2-functions": _open_cloud2,
    "edge1-workers": _open_edge1,
    "cluster-orchestrator": _open_cluster,
    "host1": _open_host1,
    "host2": _open_host2,
    "cloud4-fc": _open_cloud4,
    "cloud5-functions": _open_cloud5,
    "cloud6-functions": _open_cloud6,
}
REAL_PROVIDERS = tuple(_REAL)
_MAKERS: dict[Mode, Callable[[ProviderFacts, CommandEnvironment], Deployer]] = {
    Mode.SIMULATED: _open_simulated,
    Mode.COMMAND: _open_command,
}


def _find_role_problems(
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


def _unknown_provider_problem(provider_id: str) -> Problem:
    return Problem(
        "deploy/unknown-provider",
        f"unknown provider `{provider_id}`",
        hint="update fabric: a newer version might have deployed it",
    )
