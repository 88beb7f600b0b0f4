"""The provider as a function sees it: the invocation format and the runtime's properties."""

import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from fabric.app.project.opened import Project
from fabric.app.project.plan_rows import encode_trigger
from fabric.config.values import Config, Function
from fabric.graph.service_unit import ServiceUnit
from fabric.model.catalog import find_provider_facts
from fabric.model.conventions import find_conventions
from fabric.model.records.receipt import ReceiptEntry, ReceiptFunction
from fabric.model.task import Pairs
from fabric.runtimes.calls.function import CalledExports, CallingProvider

_LAMBDA = "cloud1-lambda"
_NO_ACCOUNT = "000000000000"
_NO_REGION = "local"
Trigger = Mapping[str, object]


class CalledFunction(Struct, frozen=True):
    """The known facts of a function to invoke."""

    name: str
    # An id or empty.
    provider: str
    runtime: str
    triggers: Sequence[Trigger] = ()
    memory: int = 0
    host: str = "localhost"
    region: str = ""
    resource: str = ""


def find_calling_provider(
    entry: ReceiptEntry, function: ReceiptFunction, config: Config | None
) -> CallingProvider:
    """Build the calling provider of a deployed function.

    `config` is the current config. Without it, a label that is not a provider id stays unknown.
    """
    provider = config.provider.id if config and config.provider.label == entry.provider else ""
    provider = provider or (entry.provider if find_provider_facts(entry.provider) else "")
    own = _find_configured_function(config, function.name)
    region = entry.outputs.get("region", "")
    return build_calling_provider(
        CalledFunction(
            name=function.name,
            provider=provider,
            runtime=function.runtime,
            triggers=[one for one in function.triggers if isinstance(one, dict)],
            memory=own.capacity.memory if own else 0,
            host=urlsplit(entry.endpoint).netloc or "localhost",
            region=region,
            resource=_format_resource_id(provider, function, region),
        )
    )


def build_simulated_caller(config: Config, function: Function) -> CallingProvider:
    """Build the calling provider of an undeployed function, as a simulated deployment would."""
    region = config.provider.region or _NO_REGION
    name = f"{config.service}-{config.stage}-{function.name}"
    is_lambda = config.provider.id == _LAMBDA
    resource = _format_arn(region, name) if is_lambda else name
    return build_calling_provider(
        CalledFunction(
            function.name,
            config.provider.id,
            function.runtime or config.provider.runtime,
            [encode_trigger(one, frozenset()) for one in function.triggers],
            function.capacity.memory,
            region=region,
            resource=resource,
        )
    )


def build_calling_provider(called: CalledFunction) -> CallingProvider:
    facts = find_provider_facts(called.provider)
    calls = find_conventions(called.provider).of(called.runtime)
    kinds = tuple(str(one.get("type")) for one in called.triggers)
    return CallingProvider(
        kinds=kinds,
        path=_find_trigger_value(called.triggers, "http", "path") or "/",
        host=called.host,
        schedule=_find_trigger_value(called.triggers, "cron", "schedule"),
        memory=called.memory or (facts.limits.memory[0] if facts else 0),
        region=called.region,
        resource=called.resource,
        is_lambda=called.provider == _LAMBDA,
        calls=CalledExports(
            convention=calls.convention(kinds), names=calls.names, methods=calls.methods
        ),
    )


def _find_configured_function(config: Config | None, name: str) -> Function | None:
    functions = config.functions if config else ()
    return next((one for one in functions if one.name == name), None)


def _find_trigger_value(triggers: Sequence[Trigger], kind: str, key: str) -> str:
    return next((str(one.get(key) or "") for one in triggers if one.get("type") == kind), "")


def _format_resource_id(provider: str, function: ReceiptFunction, region: str) -> str:
    """Format the function's resource id. Handlers parse ARNs there; a simulation has no account."""
    if provider != _LAMBDA or function.resource_id.startswith("arn:"):
        return function.resource_id
    return _format_arn(region, function.resource_name)


def _format_arn(region: str, name: str) -> str:
    return f"arn:aws:lambda:{region}:{_NO_ACCOUNT}:function:{name}"


def list_runtime_packages(project: Project, unit: ServiceUnit, runtime: str) -> Pairs:
    """List the packages that the provider's runtime contains, as installed here."""
    top = project.workspace.resolve()
    return _find_runtime_packages(
        unit.config.provider.id, runtime, (top / unit.root).resolve(), top
    )


def _find_runtime_packages(provider_id: str, runtime: str, root: Path, top: Path) -> Pairs:
    """Map each import name to its file or directory on this machine."""
    facts = find_provider_facts(provider_id)
    if facts is None:
        return ()
    # Below the workspace only: what lies above is nobody's of this project.
    folders = [folder for folder in (root, *root.parents) if folder.is_relative_to(top)]
    if runtime.startswith("python"):
        wanted = [module for _, module in facts.platform.python_packages]
        found = (_find_module(folders, name) for name in wanted)
    else:
        wanted = sorted({pattern.partition("/")[0] for pattern in facts.platform.node_packages})
        found = (
            _find_first_path(folder / "node_modules" / name for folder in folders)
            for name in wanted
        )
    return tuple((path.name, str(path)) for path in found if path)


def _find_module(folders: Sequence[Path], name: str) -> Path | None:
    """Find a module in the project's environment, then in fabric's environment."""
    return _find_first_path(
        folder / form for folder in _list_site_packages(folders) for form in (name, f"{name}.py")
    )


def _list_site_packages(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.glob(".venv/lib/python*/site-packages"))
    yield Path(sysconfig.get_paths()["purelib"])


def _find_first_path(paths: Iterator[Path]) -> Path | None:
    return next((path for path in paths if path.exists()), None)
