"""Create the Kubernetes deployer from the environment: cluster and namespace."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.config.yaml.nodes import convert_to_plain
from fabric.config.yaml.reader import read
from fabric.model.catalog import DeployUnit
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Place, Problem
from fabric.providers.cluster.applying import ClusterWork
from fabric.providers.cluster.client import (
    CONFIG,
    CONTEXT,
    NAMESPACE,
    ClusterPlace,
    ClusterSettings,
    ClusterTool,
    find_kubectl,
)
from fabric.providers.cluster.functions import deploy_orders, find_function
from fabric.providers.cluster.limits import find_unsupported
from fabric.providers.cluster.object_settings import ObjectSettings
from fabric.providers.cluster.observe import ClusterObserver
from fabric.providers.cluster.release import delete_functions, delete_service, release_service
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.deployer import GuardedDeployer, Operations
from fabric.providers.core.provider import CommandEnvironment, Provider, ProviderContext
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.core.work import CallScope
from fabric.system.files.disk import read_bytes

if TYPE_CHECKING:
    from fabric.system.registries.push import Registries


def _fetch_identity(work: ClusterWork) -> str:
    """Check a permission without using it."""
    place = work.tool.place
    if not work.tool.may("create", "deployments.apps"):
        message = (
            f"permission denied: the user of the context `{place.context}` cannot create "
            f"`deployments` in the namespace `{place.namespace}`"
        )
        hint = "grant the role that the Kubernetes guide lists"
        raise FabricError(Problem("credentials/refused", message, hint))
    return f"the user of `{place.context}`, with permission to deploy to `{place.namespace}`"


class ClusterOrchestrator(GuardedDeployer[ClusterWork], frozen=True, kw_only=True):
    """The Kubernetes deployer. Its problems name the function or the object themselves."""

    unit: DeployUnit = DeployUnit.SERVICE
    operations: Operations[ClusterWork] = Operations(
        deploy=lambda work, _, orders: deploy_orders(work, orders),
        release=lambda work, _, functions: release_service(work, functions),
        delete_functions=lambda work, _, functions: delete_functions(work, functions),
        delete_service=lambda work, *_: delete_service(work),
        find_active=lambda work, _, function: find_function(work, function, ""),
        find_by_mark=lambda work, _, function, mark: find_function(work, function, mark),
        fetch_identity=_fetch_identity,
        convert_errors=lambda *_: contextlib.nullcontext(),
    )
    tool: ClusterTool
    # The settings of this provider's config section.
    own: ClusterSettings
    open_registries: Callable[[], "Registries"]

    def _open_work(self, scope: CallScope) -> ClusterWork:
        return ClusterWork(self.tool, self.own, scope, self.open_registries)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(self.own, address, functions))


def open_cluster_deployer(context: ProviderContext) -> ClusterOrchestrator:
    objects = context.read_settings(ObjectSettings)
    own = replace(context.read_settings(ClusterSettings), objects=objects)
    # A rollout is looked at each second.
    waiting = RetryPolicy(base=1.0, cap=1.0, most=float(own.rollout_seconds))
    hide = context.build_redaction()

    return ClusterOrchestrator(
        tool=_open_tool(context.around),
        own=own,
        open_registries=context.open_registries,
        hide=hide,
        waiting=waiting,
    )


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
# A kubeconfig from the project: accepted only if it can neither run programs nor read files.
# Lowercase. The tool runs programs for the first two and reads the files that the others name.
_RUN = ("exec", "auth-provider")
_TOKEN_FILE = "tokenfile"  # noqa: S105
_KEY_FILES = ("client-certificate", "client-key", "certificate-authority")


def check_kubeconfig(path: Path, project: Path, *, is_filed: bool) -> None:
    """Raise for a file that is set by `.env` or is inside the project, unless it contains only
    clusters and credentials."""
    if not is_filed and not _is_below(path, project):
        return
    try:
        found = convert_to_plain(read(str(path), read_bytes(path)).root)
    except FileNotFoundError:
        return  # the tool reports that
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise FabricError(_trust_problem(path, f"cannot read it: {why}")) from error
    except FabricError as error:
        raise FabricError(_trust_problem(path, error.first.message)) from error
    for why in _find_dangers(found, path, project):
        raise FabricError(_trust_problem(path, why))


def find_checkout(folder: Path) -> Path:
    """Return the repository of a service, or its own directory without one."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def _is_below(path: Path, folder: Path) -> bool:
    """Return whether a path is below a directory, by name or through a link."""
    top = os.path.realpath(folder)
    return any(
        one.startswith(f"{top}/")
        for one in (os.path.realpath(path), os.path.abspath(path))  # noqa: PTH100
    )


def _is_below_resolved(path: Path, folder: Path) -> bool:
    return os.path.realpath(path).startswith(f"{os.path.realpath(folder)}/")


def _find_dangers(found: Json, path: Path, project: Path) -> Iterator[str]:
    for key, value in _list_entries(found):
        if key in _RUN and value:
            yield f"it has `{key}`, which runs a program"
        elif key == _TOKEN_FILE and value:
            yield "it has `tokenFile`, which reads a file"
        elif key in _KEY_FILES and not _is_below_resolved(path.parent / str(value), project):
            yield f"`{key}` refers to a file outside the project"


def _list_entries(found: Json) -> Iterator[tuple[str, Json]]:
    """Yield every key at any depth, in lowercase, with its value."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield key.lower(), value
            yield from _list_entries(value)
    elif isinstance(found, list):
        for one in found:
            yield from _list_entries(one)


def _trust_problem(path: Path, why: str) -> Problem:
    return Problem(
        "config/not-trusted",
        f"refusing the kubeconfig `{path}` of the project: {why}",
        hint="set CLUSTER_CONFIG in the environment to a kubeconfig outside the repository",
        where=Place(str(path)),
    )
