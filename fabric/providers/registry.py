"""The registry of providers: deployers by mode, and observers."""

import json
from collections.abc import Mapping
from importlib import import_module

from msgspec.structs import replace

from fabric.model.catalog import PROVIDER_IDS, ProviderFacts, find_provider_facts
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.providers.command.deployer import Command, no_deployer_problem
from fabric.providers.command.observe import ObservedByCommand
from fabric.providers.core.contract import Deployer
from fabric.providers.core.observing import Observer
from fabric.providers.core.provider import Provider, ProviderContext, missing_role_problem
from fabric.providers.simulated import Simulated

# Where each package has its `Provider`: text, so that a command imports only the one that it uses.
BUILT_IN: Mapping[str, str] = {
    "cloud1-lambda": "fabric.providers.cloud1.provider:PROVIDER",
    "cloud2-functions": "fabric.providers.cloud2.provider:PROVIDER",
    "edge1-workers": "fabric.providers.edge1.provider:PROVIDER",
    "cluster-orchestrator": "fabric.providers.cluster.provider:PROVIDER",
    "host1": "fabric.providers.host1.provider:PROVIDER",
    "host2": "fabric.providers.host2.provider:PROVIDER",
    "host3-machines": "fabric.providers.host3.provider:PROVIDER",
    "cloud4-fc": "fabric.providers.cloud4.provider:PROVIDER",
    "cloud5-functions": "fabric.providers.cloud5.provider:PROVIDER",
    "cloud6-functions": "fabric.providers.cloud6.provider:PROVIDER",
    "cloud3-functions": "fabric.providers.cloud3.provider:PROVIDER",
}
REAL_PROVIDERS = tuple(BUILT_IN)
_NO_PROVIDER = Provider()


def open_deployer(context: ProviderContext, mode: Mode) -> Deployer:
    """Open the deployer of the provider in this mode. Makes no API call."""
    facts = find_provider_facts(context.provider_id)
    if facts is None:
        raise FabricError(_unknown_provider_problem(context.provider_id))
    match mode:
        case Mode.SIMULATED:
            return Simulated(facts.unit)
        case Mode.COMMAND:
            return _open_command(facts, context)
        case Mode.REAL:
            return _open_real(facts, context)


def open_observer(context: ProviderContext, kind: str) -> Observer:
    """Open the observer for `kind`: logs, metrics or traces. A custom command takes precedence over
    a built-in one."""
    facts = find_provider_facts(context.provider_id)
    if facts is None:
        problem = _unknown_provider_problem(context.provider_id)
        raise FabricError(replace(problem, code="observe/none"))
    variable = facts.observe_command_variable(kind)
    line = context.env.get(variable, "").strip()
    if line:
        return ObservedByCommand(facts, variable, line, context.around)
    opened = load_provider(facts.id).open_observer
    if opened is None:
        raise FabricError(_no_observer_problem(facts, kind, context.env))
    return opened(context)


def load_provider(provider_id: str) -> Provider:
    """Import the package of a provider. A provider of the catalog without a package opens
    nothing."""
    path = BUILT_IN.get(provider_id)
    if path is None:
        from fabric.providers.installed import load_installed_provider  # few configs name one

        return load_installed_provider(provider_id) or _NO_PROVIDER
    module, _, name = path.partition(":")
    found: Provider = getattr(import_module(module), name)
    return found


def has_deployer(provider_id: str) -> bool:
    """Return whether fabric deploys to this provider without a custom command. Imports no built-in
    provider."""
    if provider_id in PROVIDER_IDS:
        return provider_id in REAL_PROVIDERS
    return load_provider(provider_id).open_deployer is not None


def _open_command(facts: ProviderFacts, context: ProviderContext) -> Deployer:
    env = context.env
    return Command(
        facts,
        env.get(facts.deploy_command_variable, ""),
        env.get(facts.destroy_command_variable, ""),
        context.around,
    )


def _open_real(facts: ProviderFacts, context: ProviderContext) -> Deployer:
    """Open the provider's own deployer. A missing role is reported before its packages are
    imported."""
    _require_role(facts, context)
    opened = load_provider(facts.id).open_deployer
    if opened is None:
        raise FabricError(no_deployer_problem(facts))
    return opened(context)


def _require_role(facts: ProviderFacts, context: ProviderContext) -> None:
    variable = facts.access.role_variable
    is_given = context.has_roles or json.loads(context.extension).get("roleArn")
    if not variable or context.env.get(variable) or is_given:
        return
    raise FabricError(missing_role_problem(facts))


def _no_observer_problem(facts: ProviderFacts, kind: str, env: Mapping[str, str]) -> Problem:
    message = f"fabric cannot read {kind} of {facts.title} (`{facts.id}`)"
    hint = f"set `{facts.observe_command_variable(kind)}` to a command that prints them"
    if kind == "logs" and facts.access.logs_command:
        command = facts.access.logs_command
        for name in facts.account_variables:
            command = command.replace(f"${name}", env.get(name) or f"${name}")
        hint = f"run `{command}`, or {hint}"
    return Problem("observe/none", message, hint)


def _unknown_provider_problem(provider_id: str) -> Problem:
    return Problem(
        "deploy/unknown-provider",
        f"unknown provider `{provider_id}`",
        hint="update fabric: a newer version might have deployed it",
    )
