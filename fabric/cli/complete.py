"""Shell completion of options and arguments, with names of the selected project."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fabric.app.request import Where

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def names_of(kind: str) -> Complete:
    """Complete names of a kind by prefix."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        from fabric.app.complete import NameKind, known_names
        from fabric.cli.start import command_start

        settings = command_start().settings
        names: Sequence[str] = known_names(NameKind(kind), _where(context), settings)
        return [name for name in names if name.startswith(begun)]

    return complete


def one_of(words: Sequence[str]) -> Complete:
    """Complete one of a few words."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        return [word for word in words if word.startswith(begun)]

    return complete


def choices_for(option: str) -> Complete:
    """Complete an option of a new project with values that fit the other options."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        said = {name: str(value or "") for name, value in context.params.items()}
        return [word for word in _choices(option, said) if word.startswith(begun)]

    return complete


def _choices(option: str, said: Mapping[str, str]) -> Sequence[str]:
    from fabric.model.back_ends import BackendKind
    from fabric.scaffold import choices

    template, provider, lang = (said.get(one, "") for one in ("template", "provider", "lang"))
    try:
        match option:
            case "template":
                return choices.templates_for(provider)
            case "provider":
                return choices.providers_for(template, lang)
            case "lang":
                return choices.languages_for(provider)
            case _:
                return tuple(BackendKind)
    except ValueError:  # a word that nobody knows
        return ()


def _where(context: click.Context) -> "Where":
    """Read the project options of the line so far."""
    from fabric.app.request import CONFIG_NAME, Where, params_of

    said = context.params
    return Where(
        said.get("config") or CONFIG_NAME,
        said.get("compose") or "",
        said.get("stage") or "",
        said.get("provider") or "",
        params=params_of(said.get("params") or ()),
    )
