"""Whether a provider is simulated, driven by a command, or real: said by the environment."""

from collections.abc import Mapping

from fabric.model.catalog import facts_of


def mode_of(provider_id: str, env: Mapping[str, str]) -> str:
    facts = facts_of(provider_id)
    if facts is None:
        raise ValueError(f"no provider {provider_id}")
    if env.get(facts.real_deploy_variable, env.get("FABRIC_REAL_DEPLOY", "")) != "1":
        return "simulated"
    return "command" if env.get(facts.deploy_command_variable) else "real"
