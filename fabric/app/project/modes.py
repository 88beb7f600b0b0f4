"""The deploy mode of a provider, simulated, command or real, from environment variables."""

from collections.abc import Mapping

from fabric.app.project.placement import Placement
from fabric.model.catalog import find_provider_facts
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.model.switches import is_on


def choose_mode(provider_id: str, env: Mapping[str, str]) -> str:
    facts = find_provider_facts(provider_id)
    if facts is None:
        raise ValueError(f"unknown provider {provider_id}")
    own = facts.real_deploy_variable
    if not is_on(own if own in env else "FABRIC_REAL_DEPLOY", env):
        return "simulated"
    return "command" if env.get(facts.deploy_command_variable) else "real"


def require_enabled(placement: Placement, mode: Mode, env: Mapping[str, str]) -> None:
    """Raise for the record of a real deploy if the user enabled no real mode.

    A checkout can bring a record. Its resource names would be read with the user's credentials.
    """
    facts = find_provider_facts(placement.provider_id)
    if mode is Mode.SIMULATED or facts is None:
        return
    if choose_mode(facts.id, env) == "simulated":
        message = (
            f"{placement.ref.title} was deployed in real mode, but real mode is not enabled: "
            "no API was called"
        )
        hint = f"set {facts.real_deploy_variable}=1 or FABRIC_REAL_DEPLOY=1, and run it again"
        raise FabricError(Problem("deploy/not-enabled", message, hint))
