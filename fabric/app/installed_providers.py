"""Add the providers of installed packages to the catalog."""

from fabric.model.catalog import ProviderFacts, use_installed_providers


def add_installed_providers() -> None:
    """Let commands find installed providers. No package is searched before an id is unknown."""
    use_installed_providers(_find_facts)


def _find_facts(provider_id: str) -> ProviderFacts | None:
    from fabric.providers.installed import find_installed_facts  # few configs name one

    return find_installed_facts(provider_id)
