"""The observers of each provider's functions."""

from collections.abc import Callable

from fabric.model.catalog import ProviderFacts, find_provider_facts
from fabric.model.problems import FabricError, Problem
from fabric.providers.connections import Connections
from fabric.providers.observed_by_command import ObservedByCommand
from fabric.providers.observing import Observer
from fabric.providers.run_command import CommandEnvironment


def _open_cloud1(around: CommandEnvironment, connections: Connections) -> Observer:
    from fabric.providers.cloud1.make import open_cloud1_observer

    return open_cloud1_observer(around, connections)


def _open_cloud2(around: CommandEnvironment, connections: Connections) -> Observer:
    from fabric.providers.cloud2.make import open_cloud2_observer

    return open_cloud2_observer(around, connections)


def _open_cloud3(around: CommandEnvironment, connections: Connections) -> Observer:
    from fabric.providers.cloud3.make import open_cloud3_observer

    return open_cloud3_observer(around, connections)


def _open_edge1(around: CommandEnvironment, connections: Connections) -> Observer:
    from fabric.providers.edge1.make import open_edge1_observer

    return open_edge1_observer(around, connections)


def _open_cluster(around: CommandEnvironment, connections: Connections) -> Observer:  # noqa: ARG001 - each call is a process of its own
    from fabric.providers.cluster.make import open_cluster_observer

    return open_cluster_observer(around)


_OBSERVERS: dict[str, Callable[[CommandEnvironment, Connections], Observer]] = {
    "cloud1-lambda": _open_cloud1,
    "cloud2-functions": _open_cloud2,
    "cloud3-functions": _open_cloud3,
    "cluster-orchestrator": _open_cluster,
    "edge1-workers": _open_edge1,
}


def open_observer(
    provider_id: str,
    kind: str,
    around: CommandEnvironment,
    connections: Connections,
) -> Observer:
    """Open the observer for logs, metrics or traces. A custom command takes precedence over a
    built-in one."""
    facts = find_provider_facts(provider_id)
    if facts is None:
        raise FabricError(_unknown_provider_problem(provider_id))
    variable = facts.observe_command_variable(kind)
    line = around.env.reveal().get(variable, "").strip()
    if line:
        return ObservedByCommand(facts, variable, line, around)
    maker = _OBSERVERS.get(facts.id)
    if maker is None:
        raise FabricError(no_observer_problem(facts, kind))
    return maker(around, connections)


def no_observer_problem(facts: ProviderFacts, kind: str) -> Problem:
    return Problem(
        "observe/none",
        f"fabric cannot read {kind} of {facts.title} (`{facts.id}`)",
        hint=f"set `{facts.observe_command_variable(kind)}` to a command that prints them",
    )


def _unknown_provider_problem(provider_id: str) -> Problem:
    message = f"unknown provider `{provider_id}`"
    return Problem(
        "observe/none", message, hint="update fabric: a newer version might have deployed it"
    )
