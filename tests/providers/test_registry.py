"""Each row of the tables of providers and DNS backends names something that exists."""

from importlib import import_module

import pytest

from fabric.model.catalog import PROVIDER_IDS
from fabric.providers.dns_registry import DNS_FACTS
from fabric.providers.registry import BUILT_IN, REAL_PROVIDERS, load_provider


@pytest.mark.parametrize("provider_id", BUILT_IN)
def test_a_row_names_the_value_of_a_provider_that_opens_something(provider_id: str) -> None:
    provider = load_provider(provider_id)
    assert (provider.open_deployer is not None) is (provider_id in REAL_PROVIDERS)
    assert provider.open_deployer or provider.open_observer


def test_every_row_is_a_provider_of_the_catalog() -> None:
    assert set(BUILT_IN) <= set(PROVIDER_IDS)


@pytest.mark.parametrize("kind", [kind for kind, facts in DNS_FACTS.items() if not facts.is_file])
def test_each_real_dns_backend_has_a_function_that_opens_it(kind: str) -> None:
    module, _, name = DNS_FACTS[kind].opener.partition(":")
    assert callable(getattr(import_module(module), name))
