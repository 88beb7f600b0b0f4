"""The kinds of tasks, and the runtimes that build functions."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.app.caching.toolchains import open_toolchain
from fabric.app.image_kinds import open_image_kinds
from fabric.app.settings import Settings
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Builder, Built
from fabric.runtimes.packages.wheel_downloads import WheelDownloads
from fabric.tasks.before import BeforeKind
from fabric.tasks.build import BuildKind
from fabric.tasks.contract import Registry
from fabric.tasks.git_wheel import GitWheelKind
from fabric.tasks.layer_archive import LayerArchiveKind
from fabric.tasks.package import PackageKind
from fabric.tasks.vendor import VendorKind
from fabric.tasks.wheel import WheelKind

if TYPE_CHECKING:
    from fabric.tasks.deploy_tools import DeployTools


@contextlib.contextmanager
def open_runtimes(settings: Settings) -> Iterator[Runtimes]:
    """Open the runtimes. Tools and child processes start on first use."""
    with open_toolchain(settings) as folder:
        chosen = settings.env.get("FABRIC_CACHE_DIR")
        cache = settings.cwd / chosen if chosen else None
        runtimes = Runtimes(folder, settings.env, cache=cache)
        try:
            yield runtimes
        finally:
            runtimes.close()


def build_registry(workspace: Path, builder: Builder, settings: Settings) -> Registry:
    env = settings.env
    return {
        "wheel": WheelKind(WheelDownloads(env)),
        "git-wheel": GitWheelKind(env),
        "vendor": VendorKind(_Packages(env)),
        "before": BeforeKind(workspace, env),
        "build": BuildKind(workspace, builder),
        "package": PackageKind(),
        "layer-archive": LayerArchiveKind(workspace, env),
        **open_image_kinds(settings),
    }


def list_deploy_kinds(tools: "DeployTools", env: Mapping[str, str]) -> Registry:
    """Return the kinds of tasks that change records and deployed resources."""
    from fabric.tasks.deploy import DeployKind
    from fabric.tasks.deploy_tools import PlacedKind
    from fabric.tasks.dns_sync import DnsSyncKind
    from fabric.tasks.hook import HookKind
    from fabric.tasks.layer import LayerKind
    from fabric.tasks.release import ReleaseKind
    from fabric.tasks.remove import RemoveKind
    from fabric.tasks.restore import RestoreKind
    from fabric.tasks.stack import StackKind
    from fabric.tasks.workflow import WorkflowKind

    hooked = {
        "deploy": PlacedKind(DeployKind(tools), tools.places),
        "release": PlacedKind(ReleaseKind(tools), tools.places),
    }
    return {
        **hooked,
        "hook": HookKind(
            hooked, tools.records.lock_record, env, tools.deployers.list_hidden_values
        ),
        "layer": PlacedKind(LayerKind(tools), tools.places),
        "stack": PlacedKind(StackKind(tools), tools.places),
        "workflow": PlacedKind(WorkflowKind(tools), tools.places),
        "remove": PlacedKind(RemoveKind(tools), tools.places),
        "restore": PlacedKind(RestoreKind(tools), tools.places),
        "dns-sync": DnsSyncKind(tools.names),
    }


class _Packages(Struct, frozen=True):
    """The packages of a lock. Their modules are imported only when something is downloaded."""

    env: Mapping[str, str]

    def download(self, workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
        from fabric.runtimes.packages.vendor import vendor

        return vendor(workspace, inputs, self.env, metadata)

    def complete(self, workspace: Path, inputs: VendorInputs, metadata: Sequence[bytes]) -> Built:
        from fabric.runtimes.packages.vendor import complete_wheels

        return complete_wheels(workspace, inputs, metadata)
