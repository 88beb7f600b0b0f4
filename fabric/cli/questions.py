"""Required values of a command: from options, otherwise a prompt, otherwise an error."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Annotated, NamedTuple

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.app.init import Ask, InitRequest
from fabric.app.settings import Settings
from fabric.cli.picker.ask import ask_text, is_interactive, pick
from fabric.model.backends import BackendKind
from fabric.model.catalog import PROVIDERS
from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.scaffold.choices import NO_MANAGER, list_languages, list_providers, list_templates
from fabric.scaffold.languages import Language
from fabric.scaffold.templates import TEMPLATES
from fabric.system.plugins import FindEntries, list_installed, load_secret_managers


class AskFlags(Struct, frozen=True):
    """The option that enables prompts."""

    interactive: Annotated[
        bool,
        click.option(
            "--interactive", is_flag=True, help="Prompt for every value that has no option."
        ),
    ]
    no_interactive: Annotated[
        bool, click.option("--no-interactive", is_flag=True, help="Never prompt.")
    ]


class Asks(Enum):
    """What to prompt for: nothing, required values, or all."""

    NOTHING = auto()
    NEEDED = auto()
    ALL = auto()


class OpenQuestion(NamedTuple):
    """A question.

    Without it, a `needed` answer is prompted for or reported missing under its `option`; others get
    the `default`.
    """

    title: str
    option: str
    # The option's value.
    given: str
    default: str
    check: Callable[[str], str]
    needed: bool = False
    choices: tuple[str, ...] = ()


class Person(NamedTuple):
    """The user to prompt, and for what."""

    asks: Asks
    picks: Callable[[str, Sequence[str], str], str] = pick
    writes: Callable[[str, str, Callable[[str], str]], str] = ask_text


def build_person(flags: AskFlags, settings: Settings, *, as_json: bool) -> Person:
    if flags.interactive and flags.no_interactive:
        message = "--interactive cannot be combined with --no-interactive"
        raise FabricError(Problem("usage/interactive-twice", message, "remove one of them"))
    is_there = is_interactive(settings, as_json=as_json)
    if flags.interactive and not is_there:
        message = "--interactive requires a terminal and cannot be combined with --json"
        hint = "pass all values as options, see --help"
        raise FabricError(Problem("usage/no-terminal", message, hint))
    if flags.interactive:
        return Person(Asks.ALL)
    return Person(Asks.NEEDED if is_there and not flags.no_interactive else Asks.NOTHING)


def collect_answers(questions: Mapping[str, OpenQuestion], person: Person) -> dict[str, str]:
    """Collect an answer to each question. All missing and invalid options are reported together."""
    problems = [
        problem for one in questions.values() for problem in _find_question_problems(one, person)
    ]
    raise_if_any(problems)
    return {name: _prompt_for(one, person) for name, one in questions.items()}


def _find_question_problems(one: OpenQuestion, person: Person) -> tuple[Problem, ...]:
    if one.given:
        complaint = one.check(one.given)
        message = f"{one.option} `{one.given}`: {complaint}"
        return (Problem("usage/bad-value", message),) if complaint else ()
    if one.needed and person.asks is Asks.NOTHING:
        message = f"missing option {one.option} (not a terminal, so fabric cannot prompt)"
        return (Problem("usage/missing-option", message, _suggest_option(one)),)
    return ()


def _suggest_option(one: OpenQuestion) -> str:
    if one.choices:
        return f"use one of {', '.join(one.choices)}"
    return f"use a value such as {one.option} '{one.default}'" if one.default else ""


def _prompt_for(one: OpenQuestion, person: Person) -> str:
    if one.given:
        return one.given
    if person.asks is Asks.NOTHING or (person.asks is Asks.NEEDED and not one.needed):
        return one.default
    if one.choices:
        return person.picks(one.title, one.choices, one.default)
    return person.writes(one.title, one.default, one.check)


_BACK_ENDS = {
    "local": "files in .fabric",
    "sql": "PostgreSQL or SQLite",
    "objstore1": "S3",
    "objstore2": "Google Cloud Storage",
    "objstore3": "Azure Blob Storage",
}


def build_asker(settings: Settings, *, as_json: bool) -> Ask | None:
    """Build the prompts; None without an interactive terminal."""
    return ask_questions if is_interactive(settings, as_json=as_json) else None


def ask_questions(asked: InitRequest, find: FindEntries = list_installed) -> InitRequest:
    """Ask the questions in product order. Each answer limits the following choices."""
    template = asked.template or pick(
        "Trigger", list_templates(asked.provider), "http", _load_template_notes()
    )
    providers = list_providers(template, asked.lang)
    notes = {one.id: one.title for one in PROVIDERS}
    provider = asked.provider or pick("Provider", providers, providers[0], notes)
    managers = (NO_MANAGER, *load_secret_managers(find))
    manager = asked.manager or pick("Secret manager", managers, NO_MANAGER)
    kinds = [one.value for one in BackendKind]
    backend = asked.backend or pick("State backend", kinds, BackendKind.LOCAL, _BACK_ENDS)
    languages = list_languages(provider, template)
    titles = {one.value: one.facts.title for one in Language}
    lang = asked.lang or pick("Language", languages, Language.TYPESCRIPT, titles)
    return replace(
        asked, template=template, provider=provider, manager=manager, backend=backend, lang=lang
    )


def _load_template_notes() -> Mapping[str, str]:
    return {one.kind.value: one.title for one in TEMPLATES}
