"""The facts on every provider: names, variables, and the C library of its images."""

import pytest

from fabric.model.catalog import (
    DEPLOYABLE_TRIGGERS,
    PROVIDERS,
    ProviderFacts,
    find_glibc_version,
    find_installed_facts,
    find_provider_facts,
    format_provider_title,
    is_known_provider,
    suggest_provider,
)
from fabric.model.names import TriggerKind

_NAMES = [(name, facts) for facts in PROVIDERS for name in facts.common_names]


def test_every_provider_has_unique_product_names() -> None:
    assert all(facts.common_names for facts in PROVIDERS)
    assert len({name for name, _ in _NAMES}) == len(_NAMES)


@pytest.mark.parametrize(("name", "facts"), _NAMES)
def test_a_product_name_suggests_its_provider(name: str, facts: ProviderFacts) -> None:
    assert suggest_provider(name) == f"did you mean `{facts.id}` ({facts.title})?"


def test_a_misspelled_id_or_label_is_suggested() -> None:
    assert suggest_provider("cloud1-lamda") == "did you mean `cloud1-lambda` (AWS Lambda)?"
    assert suggest_provider("spar", ["spare"]) == "did you mean `spare`?"
    assert suggest_provider("banana") == ""


def test_a_title_has_the_product_and_the_id() -> None:
    assert format_provider_title("host2") == "Netlify (`host2`)"
    assert format_provider_title("of-a-plugin") == "`of-a-plugin`"


def test_every_id_and_prefix_is_unique() -> None:
    assert len({facts.id for facts in PROVIDERS}) == len(PROVIDERS)
    assert len({facts.prefix for facts in PROVIDERS}) == len(PROVIDERS)


def test_variables_carry_the_prefix_of_the_provider() -> None:
    facts = find_provider_facts("cloud4-fc")
    assert facts
    assert facts.real_deploy_variable == "FABRIC_CLOUD4_REAL_DEPLOY"
    assert facts.deploy_command_variable == "FABRIC_CLOUD4_DEPLOY_CMD"
    assert facts.destroy_command_variable == "FABRIC_CLOUD4_DESTROY_CMD"
    assert facts.observe_command_variable("logs") == "FABRIC_CLOUD4_LOGS_CMD"
    assert facts.account_variables == (
        "CLOUD4_ACCOUNT_ID",
        "CLOUD4_REGION",
        "CLOUD4_API_BASE_URL",
    )


def test_required_and_optional_credentials_are_listed() -> None:
    facts = find_provider_facts("cloud5-functions")
    assert facts
    assert facts.credentials.names == ("CLOUD5_ACCESS_TOKEN", "CLOUD5_NAMESPACE", "CLOUD5_API_HOST")


def test_only_ids_and_no_product_names_are_known() -> None:
    assert is_known_provider("cloud1-lambda")
    assert not is_known_provider("aws")
    assert not is_known_provider("")


def test_an_id_of_the_table_never_means_an_installed_package() -> None:
    assert find_installed_facts("cloud1-lambda") is None
    assert find_installed_facts("${env:PROVIDER}") is None


def test_no_provider_supports_message_brokers() -> None:
    assert TriggerKind.HTTP in DEPLOYABLE_TRIGGERS
    assert TriggerKind.AMQP not in DEPLOYABLE_TRIGGERS


def test_every_limit_with_a_minimum_has_a_larger_maximum() -> None:
    limits = [facts.limits for facts in PROVIDERS]
    assert all(low <= high for one in limits for low, high in (one.memory, one.timeout))


@pytest.mark.parametrize(
    ("provider", "python", "glibc"),
    [
        ("cloud1-lambda", "3.9", 26),
        ("cloud1-lambda", "3.11", 26),
        ("cloud1-lambda", "3.12", 34),
        ("cloud1-lambda", "3.13.1", 34),
        ("cloud2-functions", "3.12", 35),
        ("cluster-orchestrator", "3.11", 36),
        ("cloud6-functions", "3.12", 17),
    ],
)
def test_each_runtime_has_a_c_library(provider: str, python: str, glibc: int) -> None:
    facts = find_provider_facts(provider)
    assert facts
    assert find_glibc_version(facts, python) == glibc


def test_no_provider_is_older_than_the_oldest_wheels() -> None:
    assert all(
        find_glibc_version(facts, f"3.{minor}") >= 17 for facts in PROVIDERS for minor in range(20)
    )
