"""Create the Kubernetes deployer from the environment: cluster and namespace."""

import json
from pathlib import Path

from msgspec import ValidationError, convert

from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.deployer import ClusterOrchestrator
from fabric.providers.cluster.kubeconfig import check_kubeconfig, find_checkout
from fabric.providers.cluster.observing.observer import ClusterObserver
from fabric.providers.cluster.settings import (
    CONFIG,
    CONTEXT,
    NAMESPACE,
    ClusterPlace,
    ClusterSettings,
)
from fabric.providers.cluster.tool import ClusterTool, find_kubectl
from fabric.providers.redaction import build_redaction
from fabric.providers.run_command import CommandEnvironment
from fabric.providers.waiting import RetryPolicy


def open_cluster_deployer(around: CommandEnvironment, extension: str) -> ClusterOrchestrator:
    env = around.env.reveal()
    own = _read_own_settings(extension)
    place = _place(around)
    find_kubectl(env)
    tool = ClusterTool(place, around.cwd, around.env)
    # A rollout is looked at each second.
    waiting = RetryPolicy(base=1.0, cap=1.0, most=float(own.rollout_seconds))
    hide = build_redaction(around.hide.reveal(), env.items())
    return ClusterOrchestrator(tool, own, hide=hide, waiting=waiting)


def open_cluster_observer(around: CommandEnvironment) -> ClusterObserver:
    env = around.env.reveal()

    def open_tool() -> ClusterTool:
        place = _place(around)
        find_kubectl(env)
        return ClusterTool(place, around.cwd, around.env)

    return ClusterObserver(open_tool, build_redaction(around.hide.reveal(), env.items()))


def _place(around: CommandEnvironment) -> ClusterPlace:
    env = around.env.reveal()
    missing = [name for name in (CONFIG, CONTEXT, NAMESPACE) if not env.get(name)]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        message = f"Kubernetes settings are missing (`cluster-orchestrator`): set {names}"
        hint = "use the path of a kubeconfig file, a context in it and a namespace"
        raise FabricError(Problem("credentials/missing", message, hint))
    file = Path(around.cwd, env[CONFIG])
    check_kubeconfig(file, find_checkout(around.cwd), is_filed=CONFIG in around.filed)
    return ClusterPlace(env[CONFIG], env[CONTEXT], env[NAMESPACE])


def _read_own_settings(extension: str) -> ClusterSettings:
    try:
        return convert(json.loads(extension), ClusterSettings)
    except ValidationError as error:
        message = f"invalid `extensions.cluster-orchestrator`: {error}"
        raise FabricError(Problem("config/type", message)) from error
