"""Providers of installed packages: entry points of the group `fabric.providers`.

The name of an entry point is the id of its provider, and its value is a `Provider` with facts.
"""

import re
from functools import cache

from fabric.model.catalog import PROVIDERS, ProviderFacts
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.provider import CONTRACTS, Provider
from fabric.system.plugins import FindEntries, list_installed_providers, load_plugin

# Variables such as `FABRIC_<P>_REAL_DEPLOY` are made from it.
_PREFIX = re.compile(r"[A-Z][A-Z0-9_]{1,30}")
_OURS = {facts.prefix: facts.id for facts in PROVIDERS} | {"FABRIC": "fabric", "PDNS": "pdns"}


@cache
def load_installed_provider(provider_id: str) -> Provider | None:
    """Load the provider once per process, or return None if no package has it."""
    return find_provider(provider_id, list_installed_providers)


def find_installed_facts(provider_id: str) -> ProviderFacts | None:
    provider = load_installed_provider(provider_id)
    return provider.facts if provider else None


def find_provider(provider_id: str, find: FindEntries) -> Provider | None:
    """Load the provider of this id, and no other package. Raises if it cannot be used."""
    entries = [one for one in find() if one.name == provider_id]
    if not entries:
        return None
    # The same package can be found twice, by two directories of the path.
    values = sorted({one.value for one in entries})
    if len(values) > 1:
        message = f"several installed packages provide `{provider_id}`: {', '.join(values)}"
        raise FabricError(Problem("plugin/duplicate", message, hint="uninstall all but one"))
    provider = load_plugin(entries[0])
    if not isinstance(provider, Provider) or provider.facts is None:
        message = f"the plugin `{provider_id}` is not a provider"
        hint = f"set its entry point {values[0]} to a `Provider` with `facts`"
        raise FabricError(Problem("plugin/other-kind", message, hint))
    _require_contract(provider_id, provider.contract)
    _require_own_names(provider_id, provider.facts)
    return provider


def _require_contract(provider_id: str, contract: int) -> None:
    if contract not in CONTRACTS:
        known = ", ".join(map(str, CONTRACTS))
        message = (
            f"the provider `{provider_id}` uses version {contract} of the provider contract; "
            f"this fabric supports {known}"
        )
        hint = "update fabric, or install another version of the package"
        raise FabricError(Problem("plugin/bad-provider", message, hint))


def _require_own_names(provider_id: str, facts: ProviderFacts) -> None:
    """Raise for names of another provider: its variables would then enable or configure both."""
    if facts.id != provider_id:
        message = f"the provider `{provider_id}` has the id `{facts.id}` in its facts"
        hint = "use the name of its entry point as `id`"
        raise FabricError(Problem("plugin/bad-provider", message, hint))
    if not _PREFIX.fullmatch(facts.prefix) or facts.prefix in _OURS:
        other = f", which belongs to `{_OURS[facts.prefix]}`" if facts.prefix in _OURS else ""
        message = f"the provider `{provider_id}` has the prefix `{facts.prefix}`{other}"
        hint = "use 2 to 31 uppercase letters, digits and `_` that no other provider uses"
        raise FabricError(Problem("plugin/bad-provider", message, hint))
