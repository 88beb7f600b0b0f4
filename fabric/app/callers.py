"""What a provider is to a function that is deployed there: how it calls it, and with what."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from fabric.app.brought import brought_here
from fabric.app.project.project import Project
from fabric.config.values import Config, Function
from fabric.graph.compile import ServiceUnit
from fabric.model.catalog import facts_of
from fabric.model.conventions import conventions_of
from fabric.model.records.receipt import ReceiptEntry, ReceiptFunction
from fabric.model.task import Pairs
from fabric.runtimes.calls.function import CallingProvider

_LAMBDA = "cloud1-lambda"
_NO_ACCOUNT = "000000000000"
Trigger = Mapping[str, object]


def caller_of(
    entry: ReceiptEntry, function: ReceiptFunction, config: Config | None
) -> CallingProvider:
    """`config` is today's; without one a label that is no provider's id tells nothing."""
    provider = config.provider.id if config and config.provider.label == entry.provider else ""
    provider = provider or (entry.provider if facts_of(entry.provider) else "")
    facts = facts_of(provider)
    calls = conventions_of(provider).of(function.runtime)
    triggers = [one for one in function.triggers if isinstance(one, dict)]
    kinds = tuple(str(one.get("type")) for one in triggers)
    own = _configured(config, function.name)
    region = entry.outputs.get("region", "")
    return CallingProvider(
        calls.convention(kinds),
        calls.names,
        calls.methods,
        kinds,
        _first(triggers, "http", "path") or "/",
        urlsplit(entry.endpoint).netloc or "localhost",
        _first(triggers, "cron", "schedule"),
        (own.memory if own else 0) or (facts.memory[0] if facts else 0),
        region,
        _resource(provider, function, region),
        is_lambda=provider == _LAMBDA,
    )


def _configured(config: Config | None, name: str) -> Function | None:
    functions = config.functions if config else ()
    return next((one for one in functions if one.name == name), None)


def _first(triggers: Sequence[Trigger], kind: str, key: str) -> str:
    return next((str(one.get(key) or "") for one in triggers if one.get("type") == kind), "")


def _resource(provider: str, function: ReceiptFunction, region: str) -> str:
    """Handlers there take the parts of an ARN; who simulates has no account."""
    if provider != _LAMBDA or function.resource_id.startswith("arn:"):
        return function.resource_id
    return f"arn:aws:lambda:{region}:{_NO_ACCOUNT}:function:{function.resource_name}"


def brought_by(project: Project, unit: ServiceUnit, runtime: str) -> Pairs:
    """What the provider's runtime brings: here it is what is installed."""
    top = project.workspace.resolve()
    return brought_here(unit.config.provider.id, runtime, (top / unit.root).resolve(), top)
