"""Product names and misspelled ids lead to the id of a provider."""

import pytest

from fabric.model.catalog import PROVIDERS, ProviderFacts, format_provider_title, suggest_provider

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
