"""The provider as a function sees it: the invocation format and the runtime's properties."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from fabric.app.project.plan_rows import encode_trigger
from fabric.config.values import Config, Function
from fabric.model.calls.conventions import find_conventions
from fabric.model.calls.host_facts import find_host_facts
from fabric.model.catalog import FUNCTION_NAME, find_provider_facts
from fabric.model.records.receipt import ReceiptEntry, ReceiptFunction
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
    architecture: str = ""


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
            architecture=own.capacity.architecture if own else "",
        )
    )


def build_simulated_caller(config: Config, function: Function) -> CallingProvider:
    """Build the calling provider of an undeployed function, as a simulated deployment would."""
    region = config.provider.region or _NO_REGION
    own = dict(function.settings).get(FUNCTION_NAME)
    name = own or f"{config.service}-{config.stage}-{function.name}"
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
            architecture=function.capacity.architecture,
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
        architecture=called.architecture,
        facts=find_host_facts(called.provider),
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
