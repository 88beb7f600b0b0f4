"""The choices of a new project: supported pairs of the capability table."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from fabric.config.schema.shapes import SERVICE_NAME
from fabric.model.backends import BackendKind
from fabric.model.catalog import (
    PROVIDERS,
    ProviderFacts,
    find_provider_facts,
    format_provider_title,
    require_provider_facts,
)
from fabric.model.names import TriggerKind
from fabric.model.problems import Problem
from fabric.model.text.spelling import suggest_spelling
from fabric.scaffold.languages import Language
from fabric.scaffold.templates import TEMPLATES, find_template, has_handler

NO_MANAGER = "none"
# The first stage that a service is deployed to; names at a provider hold it.
_STAGE = "dev"
_NO_LETTERS = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_HINT = 63


class ManagerFacts(Struct, frozen=True):
    """A secret manager."""

    # Also the scheme of its references.
    id: str
    # Those it reads.
    variables: tuple[str, ...] = ()


class ProjectChoices(Struct, frozen=True):
    service: str
    template: str
    provider: str
    lang: str = Language.TYPESCRIPT.value
    backend: str = BackendKind.LOCAL.value
    manager: ManagerFacts | None = None
    with_workflow: bool = False

    @property
    def language(self) -> Language:
        return Language(self.lang)

    @property
    def facts(self) -> ProviderFacts:
        return require_provider_facts(self.provider)


def list_templates(provider: str = "") -> tuple[str, ...]:
    """List the templates that the provider, or any provider, supports."""
    facts = find_provider_facts(provider)
    able = facts.triggers if facts else frozenset[TriggerKind]().union(*_list_trigger_sets())
    return tuple(one.kind.value for one in TEMPLATES if one.kind in able)


def _list_trigger_sets() -> Iterator[frozenset[TriggerKind]]:
    return (facts.triggers for facts in PROVIDERS)


def list_providers(template: str = "", lang: str = "") -> tuple[str, ...]:
    """List the providers that support the template and language."""
    return tuple(
        facts.id
        for facts in PROVIDERS
        if (not template or TriggerKind(template) in facts.triggers)
        and (not lang or Language(lang).runtime in facts.platform.families)
        and (not (template and lang) or has_handler(template, lang))
    )


def list_languages(provider: str = "", template: str = "") -> tuple[str, ...]:
    facts = find_provider_facts(provider)
    return tuple(
        one.value
        for one in Language
        if (not facts or one.runtime in facts.platform.families)
        and (not template or has_handler(template, one))
    )


def find_unknown_words(choices: ProjectChoices) -> tuple[Problem, ...]:
    """Find unknown words. Open choices are skipped."""
    found = (
        _unknown_word_problem("--template", choices.template, list_templates()),
        _unknown_word_problem("--provider", choices.provider, [facts.id for facts in PROVIDERS]),
        _unknown_word_problem("--lang", choices.lang, [one.value for one in Language]),
        _unknown_word_problem(
            "--state-backend", choices.backend, [one.value for one in BackendKind]
        ),
    )
    return tuple(problem for problem in found if problem)


def _unknown_word_problem(option: str, word: str, known: Iterable[str]) -> Problem | None:
    known = tuple(known)
    if not word or word in known:
        return None
    if option == "--template" and word in tuple(TriggerKind):
        message = f"no provider supports the trigger `{word}`"
        return Problem("usage/unsupported", message, f"use one of {', '.join(known)}")
    hint = suggest_spelling(word, known) or f"use one of {', '.join(known)}"
    return Problem("usage/unknown-choice", f"invalid value for {option}: `{word}`", hint)


def find_unsupported_pairs(choices: ProjectChoices) -> tuple[Problem, ...]:
    """Find unsupported pairs of known words."""
    found = []
    if choices.template and choices.provider:
        found.append(_find_template_problem(choices))
    if choices.provider and choices.lang:
        found.append(_find_language_problem(choices))
    return tuple(problem for problem in found if problem)


def _find_template_problem(choices: ProjectChoices) -> Problem | None:
    able = list_providers(choices.template)
    if choices.provider in able:
        return None
    message = (
        f"{format_provider_title(choices.provider)} does not support triggers of "
        f"type `{choices.template}`"
    )
    hint = f"use one of {', '.join(able)}, or a trigger type of {_format_templates(choices.facts)}"
    return Problem("usage/unsupported", message, hint)


def _format_templates(facts: ProviderFacts) -> str:
    return ", ".join(sorted(facts.triggers))


def _find_language_problem(choices: ProjectChoices) -> Problem | None:
    able = list_languages(choices.provider)
    if choices.lang in able:
        return None
    message = f"{format_provider_title(choices.provider)} does not support `{choices.lang}`"
    return Problem("usage/unsupported", message, f"set --lang to one of {', '.join(able)}")


def derive_service_name(folder: str) -> str:
    """Derive a valid service name from the directory; empty without a valid character.

    The name is lowercase, because not every provider accepts uppercase.
    """
    return _NO_LETTERS.sub("-", folder).strip("-_").lower()


def find_service_name_problem(name: str, *, is_folder: bool) -> Problem | None:
    """Return why the given name, or the directory's name, is not a valid service name."""
    if SERVICE_NAME.fits(name):
        return None
    shown = name if len(name) <= _LONGEST_HINT else f"{name[:40]}…"
    whose = f"directory name `{shown}`" if is_folder else f"`{shown}`"
    near = _NO_LETTERS.sub("-", name).strip("-_")[:_LONGEST_HINT]
    example = f", such as --service {near}" if near else ""
    hint = f"use {SERVICE_NAME.rule}{example}"
    return Problem("usage/bad-service", f"invalid service name: {whose}", hint)


def find_length_problem(choices: ProjectChoices) -> Problem | None:
    """Return why the provider would reject the function's full name."""
    limit = choices.facts.limits.name_length
    whole = f"{choices.service}-{_STAGE}-{find_template(choices.template).function}"
    if not limit or len(whole) <= limit:
        return None
    message = f"the resource name `{whole}` has {len(whole)} characters (maximum {limit})"
    hint = "use a shorter service name with --service"
    return Problem("usage/bad-service", message, hint)
