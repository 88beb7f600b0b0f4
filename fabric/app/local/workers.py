"""Local calls at Cloudflare: services with bindings run in workerd, the runtime of Workers."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.app.local.artifacts import Artifacts
from fabric.app.project.plan_rows import encode_trigger
from fabric.config.values import Config
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.problems import Problem
from fabric.model.secrets.secret import Secret
from fabric.model.task import Pairs
from fabric.providers.core.contract import Artifact, DeploymentAddress, FunctionOrder
from fabric.runtimes.calls.function import LocalWorkers
from fabric.system.files.disk import make_folder, write_atomic

_PROVIDER = "edge1-workers"


class FoundWorkers(Struct, frozen=True):
    """The Workers of a service; None if it needs none, or they cannot run on this machine."""

    workers: LocalWorkers | None = None
    warnings: tuple[Problem, ...] = ()


def describe_workers(
    config: Config, artifacts: Artifacts, values: Mapping[str, Secret[Pairs]]
) -> FoundWorkers:
    """Write the description of the Workers that the children of all functions read. It contains
    no values, which can be secret."""
    if config.provider.id != _PROVIDER:
        return FoundWorkers()
    section = json.loads(config.provider.extensions).get(_PROVIDER) or {}
    if not {"bindings", "assets"} & section.keys():
        return FoundWorkers()
    miniflare = find_miniflare(artifacts.root)
    if miniflare is None:
        message = f"`{config.service}` runs locally without bindings and static files"
        hint = "install the runtime of Workers: npm install --save-dev wrangler"
        return FoundWorkers(warnings=(Problem("local/no-workerd", message, hint),))
    from fabric.providers.edge1.local import describe_local_service  # few services have these

    place = (config.provider.label, config.provider.id, config.provider.region)
    address = DeploymentAddress(config.service, config.stage, *place)
    triggers = {
        one.name: [encode_trigger(each, frozenset()) for each in one.triggers]
        for one in config.functions
    }
    orders = tuple(_list_orders(config, artifacts, triggers))
    found = describe_local_service(section, address, orders, triggers)
    folder = artifacts.root / ".fabric" / "workers"
    root = {"miniflare": str(miniflare), "root": str(artifacts.root)}
    described = {"workers": found.workers, "objects": found.objects}
    file = _write(folder, {**root, **described})
    variables = {
        name: {**dict(one.reveal()), **found.values.get(name, {})} for name, one in values.items()
    }
    return FoundWorkers(
        LocalWorkers(str(file), Secret(variables)), tuple(_list_warnings(found.missing))
    )


def _list_orders(
    config: Config, artifacts: Artifacts, triggers: Mapping[str, Sequence[object]]
) -> Iterator[FunctionOrder]:
    for one in config.functions:
        package = artifacts.packages.get(one.name)
        if package is not None:
            runtime = one.runtime or config.provider.runtime
            artifact = Artifact(package.path, package.sha256, 0, package.handler, runtime)
            texts = tuple(json.dumps(each) for each in triggers[one.name])
            settings = (("timeout", str(one.capacity.timeout or "")),)
            yield FunctionOrder(one.name, artifact, settings, texts)


def _list_warnings(missing: Sequence[str]) -> Iterator[Problem]:
    for name in missing:
        message = f"the binding `{name}` is missing in local calls: it exists only at Cloudflare"
        yield Problem("local/no-binding", message, "deploy the service to a test stage to call it")


def find_miniflare(root: Path) -> Path | None:
    """Find Miniflare in the packages of a project or of a directory above, also as a package that
    only Wrangler brings."""
    for folder in (root, *root.parents):
        packages = folder / "node_modules"
        wrangler = Path(os.path.realpath(packages / "wrangler"))
        for found in (packages, wrangler / "node_modules", wrangler.parent):
            if (found / "miniflare" / "package.json").is_file():
                return found / "miniflare"
    return None


def _write(folder: Path, service: Mapping[str, object]) -> Path:
    """Write a description under the hash of its content, in place of older ones."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    short = hash_fields((str(folder),))[:12]
    socket = Path(tempfile.gettempdir(), f"fabric-{user}-{short}", "workers")
    described = {**service, "state": str(folder / "state"), "socket": str(socket)}
    digest = hash_bytes(json.dumps(described, sort_keys=True).encode())
    make_folder(folder)
    file = folder / f"{digest}.json"
    if not file.exists():
        write_atomic(file, json.dumps({"digest": digest, **described}).encode())
    for other in folder.glob("*.json"):
        if other != file:
            other.unlink(missing_ok=True)
    return file
