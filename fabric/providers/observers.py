"""The observers of each provider's functions."""

from collections.abc import Callable

from fabric.model.catalog import ProviderFacts, facts_of
from fabric.model.problems import FabricError, Problem
from fabric.providers.connections import Connections
from fabric.providers.observed_by_command import ObservedByCommand
from fabric.providers.observing import Observer
from fabric.providers.run_command import CommandEnvironment


def _cloud1(around: CommandEnvironment, connections: Connections) -> Observer:
    from fabric.providers.cloud1.make import cloud1_observer

    return cloud1_observer(around, connections)


def _cloud2(around: CommandEnvironment, connections: Connections) -> Observer:
    from fabric.providers.cloud2.make import cloud2_observer

    return cloud2_observer(around, connections)


def _cloud3(around: CommandEnvironment, connections: Connections) -> Observer:
    from fabric.providers.cloud3.make import cloud3_observer

    return cloud3_observer(around, connections)


def _edge1(around: CommandEnvironment, connections: Connections) -> Observer:
    from fabric.providers.edge1.make import edge1_observer

    return edge1_observer(around, connections)


def _cluster(around: CommandEnvironment, connections: Connections) -> Observer:  # noqa: ARG001 - each call is a process of its own
    from fabric.providers.cluster.make import cluster_observer

    return cluster_observer(around)


_OBSERVERS: dict[str, Callable[[CommandEnvironment, Connections], Observer]] = {
    "cloud1-lambda": _cloud1,
    "cloud2-functions": _cloud2,
    "cloud3-functions": _cloud3,
    "cluster-orchestrator": _cluster,
    "edge1-workers": _edge1,
}


def observer_of(
    provider_id: str,
    kind: str,
    around: CommandEnvironment,
    connections: Connections,
) -> Observer:
    """Open the observer for logs, metrics or traces. A custom command takes precedence over a
    built-in one."""
    facts = facts_of(provider_id)
    if facts is None:
        raise FabricError(_unknown(provider_id))
    variable = facts.observe_command_variable(kind)
    line = around.env.reveal().get(variable, "").strip()
    if line:
        return ObservedByCommand(facts, variable, line, around)
    maker = _OBSERVERS.get(facts.id)
    if maker is None:
        raise FabricError(nobody_observes(facts, kind))
    return maker(around, connections)


def nobody_observes(facts: ProviderFacts, kind: str) -> Problem:
    return Problem(
        "observe/none",
        f"fabric cannot read {kind} of {facts.title} (`{facts.id}`)",
        hint=f"set `{facts.observe_command_variable(kind)}` to a command that prints them",
    )


def _unknown(provider_id: str) -> Problem:
    message = f"unknown provider `{provider_id}`"
    return Problem(
        "observe/none", message, hint="update fabric: a newer version might have deployed it"
    )
