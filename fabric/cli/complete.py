"""Shell completion of options and arguments, with names of the selected project."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fabric.app.request import Where

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def complete_names(kind: str) -> Complete:
    """Complete names of a kind by prefix."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        from fabric.app.complete import NameKind, list_completions
        from fabric.cli.start import get_command_start

        settings = get_command_start().settings
        names: Sequence[str] = list_completions(NameKind(kind), _read_where(context), settings)
        return [name for name in names if name.startswith(begun)]

    return complete


def complete_words(words: Sequence[str]) -> Complete:
    """Complete one of a few words."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        return [word for word in words if word.startswith(begun)]

    return complete


def complete_choices(option: str) -> Complete:
    """Complete an option of a new project with values that fit the other options."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        said = {name: str(value or "") for name, value in context.params.items()}
        return [word for word in _list_choices(option, said) if word.startswith(begun)]

    return complete


def _list_choices(option: str, said: Mapping[str, str]) -> Sequence[str]:
    from fabric.model.backends import BackendKind
    from fabric.scaffold import choices

    template, provider, lang = (said.get(one, "") for one in ("template", "provider", "lang"))
    try:
        match option:
            case "template":
                return choices.list_templates(provider)
            case "provider":
                return choices.list_providers(template, lang)
            case "lang":
                return choices.list_languages(provider)
            case _:
                return tuple(BackendKind)
    except ValueError:  # a word that nobody knows
        return ()


def _read_where(context: click.Context) -> "Where":
    """Read the project options of the line so far."""
    from fabric.app.request import CONFIG_NAME, Where, parse_params

    said = context.params
    return Where(
        said.get("config") or CONFIG_NAME,
        said.get("compose") or "",
        said.get("stage") or "",
        said.get("provider") or "",
        params=parse_params(said.get("params") or ()),
    )
