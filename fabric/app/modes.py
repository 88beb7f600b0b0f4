"""Whether a provider is simulated, driven by a command, or real: said by the environment."""

from collections.abc import Mapping

from fabric.model.catalog import PROVIDERS


def mode_of(provider_id: str, env: Mapping[str, str]) -> str:
    prefix = f"FABRIC_{PROVIDERS[provider_id].prefix}"
    switch = env.get(f"{prefix}_REAL_DEPLOY", env.get("FABRIC_REAL_DEPLOY", ""))
    if switch != "1":
        return "simulated"
    return "command" if env.get(f"{prefix}_DEPLOY_CMD") else "real"
