"""Whether a provider is simulated, driven by a command, or real: said by the environment."""

from collections.abc import Mapping

from fabric.model.catalog import facts_of
from fabric.model.problems import FabricError, Problem

_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"", "0", "false", "no", "off"})


def is_on(name: str, env: Mapping[str, str]) -> bool:
    """A switch says yes or no, in whatever letters; another word would be taken for either."""
    said = env.get(name, "").strip().lower()
    if said in _ON:
        return True
    if said in _OFF:
        return False
    message = f"{name} is neither on nor off: {env[name]!r}"
    raise FabricError(Problem("usage/bad-switch", message, hint="1, true, yes, on; or 0, no, off"))


def mode_of(provider_id: str, env: Mapping[str, str]) -> str:
    facts = facts_of(provider_id)
    if facts is None:
        raise ValueError(f"no provider {provider_id}")
    own = facts.real_deploy_variable
    if not is_on(own if own in env else "FABRIC_REAL_DEPLOY", env):
        return "simulated"
    return "command" if env.get(facts.deploy_command_variable) else "real"
