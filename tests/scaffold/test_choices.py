"""The choices of a new project."""

import pytest
from msgspec.structs import replace

from fabric.model.catalog import PROVIDERS
from fabric.scaffold.choices import (
    ProjectChoices,
    derive_service_name,
    find_length_problem,
    find_service_name_problem,
    find_unknown_words,
    find_unsupported_pairs,
    list_languages,
    list_providers,
    list_templates,
)

CHOICES = ProjectChoices("shop", "http", "cloud1-lambda")


def test_supported_choices_have_no_problem() -> None:
    assert find_unknown_words(CHOICES) == ()
    assert find_unsupported_pairs(CHOICES) == ()
    assert find_unknown_words(ProjectChoices("", "", "", "", "")) == ()


@pytest.mark.parametrize(
    ("changed", "message", "hint"),
    [
        (replace(CHOICES, template="htp"), "--template: `htp`", "did you mean `http`?"),
        (
            replace(CHOICES, template="amqp"),
            "no provider supports the trigger `amqp`",
            "use one of",
        ),
        (replace(CHOICES, provider="cloud1"), "--provider: `cloud1`", "use one of"),
        (replace(CHOICES, lang="c"), "--lang: `c`", "use one of ts, js, py, go, rust"),
        (replace(CHOICES, backend="sqll"), "--state-backend: `sqll`", "did you mean `sql`?"),
    ],
)
def test_an_unknown_word_is_named_with_known_ones(
    changed: ProjectChoices, message: str, hint: str
) -> None:
    (problem,) = find_unknown_words(changed)
    assert message in problem.message
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (replace(CHOICES, provider="host2", template="queue"), "triggers of type `queue`"),
        (replace(CHOICES, provider="host2", lang="py"), "does not support `py`"),
    ],
)
def test_an_unsupported_pair_is_named(changed: ProjectChoices, message: str) -> None:
    (problem,) = find_unsupported_pairs(changed)
    assert message in problem.message


@pytest.mark.parametrize("provider", [facts.id for facts in PROVIDERS])
def test_lists_of_choices_agree_with_each_other(provider: str) -> None:
    for template in list_templates(provider):
        assert provider in list_providers(template)
    for lang in list_languages(provider):
        assert provider in list_providers(lang=lang)
    assert set(list_templates(provider)) <= set(list_templates())


@pytest.mark.parametrize(
    ("folder", "name"),
    [("My Shop", "my-shop"), ("shop_2", "shop_2"), ("-a-", "a"), ("läden", "l-den"), ("店", "")],
)
def test_a_service_is_named_after_its_directory(folder: str, name: str) -> None:
    assert derive_service_name(folder) == name


def test_an_invalid_name_is_refused_with_a_valid_one() -> None:
    assert find_service_name_problem("shop", is_folder=False) is None
    problem = find_service_name_problem("my shop", is_folder=True)
    assert problem
    assert "directory name `my shop`" in problem.message
    assert problem.hint.endswith("such as --service my-shop")


def test_a_resource_name_must_fit_the_provider() -> None:
    assert find_length_problem(CHOICES) is None
    problem = find_length_problem(replace(CHOICES, service="s" * 60))
    assert problem
    assert "has 70 characters (maximum 64)" in problem.message
