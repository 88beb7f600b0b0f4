"""Create the Kubernetes deployer from the environment: cluster and namespace."""

from pathlib import Path

from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.client import (
    CONFIG,
    CONTEXT,
    NAMESPACE,
    ClusterPlace,
    ClusterSettings,
    ClusterTool,
    find_kubectl,
)
from fabric.providers.cluster.deployer import ClusterOrchestrator
from fabric.providers.cluster.kubeconfig import check_kubeconfig, find_checkout
from fabric.providers.cluster.observe import ClusterObserver
from fabric.providers.core.provider import CommandEnvironment, Provider, ProviderContext
from fabric.providers.core.retry import RetryPolicy


def open_cluster_deployer(context: ProviderContext) -> ClusterOrchestrator:
    own = context.read_settings(ClusterSettings)
    # A rollout is looked at each second.
    waiting = RetryPolicy(base=1.0, cap=1.0, most=float(own.rollout_seconds))
    hide = context.build_redaction()
    return ClusterOrchestrator(_open_tool(context.around), own, hide=hide, waiting=waiting)


def open_cluster_observer(context: ProviderContext) -> ClusterObserver:
    return ClusterObserver(lambda: _open_tool(context.around), context.build_redaction())


def _open_tool(around: CommandEnvironment) -> ClusterTool:
    place = _place(around)
    find_kubectl(around.env.reveal())
    return ClusterTool(place, around.cwd, around.env)


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


PROVIDER = Provider(open_deployer=open_cluster_deployer, open_observer=open_cluster_observer)
