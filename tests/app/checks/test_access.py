"""Which credentials are missing, from the names that are given."""

import pytest

from fabric.app.checks.access import AWS_FILES, find_missing_groups
from fabric.model.catalog import PROVIDERS, ProviderFacts, find_provider_facts


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda one: one.id)
def test_without_any_variable_every_group_is_missing(facts: ProviderFacts) -> None:
    assert find_missing_groups(facts, ()) == facts.credentials.required


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda one: one.id)
def test_one_name_of_each_group_is_enough(facts: ProviderFacts) -> None:
    assert find_missing_groups(facts, {group[-1] for group in facts.credentials.required}) == ()


@pytest.mark.parametrize(
    "given",
    [
        {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"},
        {"AWS_PROFILE"},
        {AWS_FILES, "CLOUD1_REGION"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_DEFAULT_REGION"},
    ],
)
def test_the_ways_of_the_cloud_itself_do_as_well(given: set[str]) -> None:
    facts = find_provider_facts("cloud1-lambda")
    assert facts is not None
    assert find_missing_groups(facts, given) == ()
