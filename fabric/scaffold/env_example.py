"""The text of a new `.env.example`: variables of the provider and the state backend."""

from collections.abc import Iterable, Iterator

from fabric.model.backends import back_end_facts
from fabric.model.catalog import ProviderFacts
from fabric.scaffold.choices import ProjectChoices

_HEAD = """\
# Copy this file to .env and set the variables you need. .env is not committed to git.
# Deploys are simulated and call no provider, unless FABRIC_REAL_DEPLOY=1 is set in the shell.
"""
# Such a line in .env has no effect.
_SWITCH = "FABRIC_"
_ELSEWHERE = "# Not read from this file. Set it in the shell."


def format_env_example(choices: ProjectChoices) -> str:
    shown: set[str] = set()
    parts = [
        _format_part(choices.facts.title, _list_provider_lines(choices.facts, shown)),
        _format_part(
            f"State backend `{choices.backend}`", _list_backend_lines(choices.backend, shown)
        ),
    ]
    if choices.manager:
        lines = _list_needed_lines([choices.manager.variables], shown)
        parts.append(_format_part(f"Secret manager `{choices.manager.id}`", lines))
    return "\n".join((_HEAD, *filter(None, parts)))


def _format_part(title: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f"# {title}\n{body}\n" if body else ""


def _list_provider_lines(facts: ProviderFacts, shown: set[str]) -> Iterator[str]:
    for group in facts.credentials.required:
        yield from _list_needed_lines([(name,) for name in group], shown)
    for name in _select_new_names(facts.credentials.optional, shown):
        yield from _format_optional(name, "# Optional:")
    yield from _format_optional(
        facts.real_deploy_variable, "# For real deploys to this provider only:"
    )


def _list_backend_lines(kind: str, shown: set[str]) -> Iterator[str]:
    facts = back_end_facts(kind)
    yield from _list_needed_lines(facts.credentials, shown)
    if facts.endpoint:
        yield from _format_optional(facts.endpoint, "# Only for a custom endpoint URL:")


def _list_needed_lines(ways: Iterable[Iterable[str]], shown: set[str]) -> Iterator[str]:
    """List required variables: the first alternative active, the others commented out."""
    for number, way in enumerate(ways):
        names = _select_new_names(way, shown)
        if number and names:
            yield "# or:"
        for name in names:
            yield from _format_variable(name, is_first=number == 0)


def _format_variable(name: str, *, is_first: bool) -> Iterator[str]:
    if name.startswith(_SWITCH):
        yield _ELSEWHERE
    yield f"{name}=" if is_first and not name.startswith(_SWITCH) else f"# {name}="


def _format_optional(name: str, why: str) -> Iterator[str]:
    yield _ELSEWHERE if name.startswith(_SWITCH) else why
    yield f"# {name}="


def _select_new_names(names: Iterable[str], shown: set[str]) -> tuple[str, ...]:
    """Select variables that no earlier part has, because two parts can share one account."""
    found = tuple(name for name in names if name not in shown)
    shown.update(found)
    return found
