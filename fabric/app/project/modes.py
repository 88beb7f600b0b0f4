"""Whether a provider is simulated, driven by a command, or real: said by the environment."""

from collections.abc import Mapping

from fabric.model.catalog import facts_of
from fabric.model.switches import is_on


def mode_of(provider_id: str, env: Mapping[str, str]) -> str:
    facts = facts_of(provider_id)
    if facts is None:
        raise ValueError(f"no provider {provider_id}")
    own = facts.real_deploy_variable
    if not is_on(own if own in env else "FABRIC_REAL_DEPLOY", env):
        return "simulated"
    return "command" if env.get(facts.deploy_command_variable) else "real"
