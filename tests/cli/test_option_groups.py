"""Long lists of options are shown in groups, each option in one."""

import click
import pytest

from fabric.cli.option_groups import GROUPS
from tests.support.plain_words import commands

_COMMANDS = [(path, one) for path, one in commands() if not isinstance(one, click.Group)]
_UNGROUPED = {"version", "interactive", "no_interactive"}


def _options(command: click.Command) -> set[str]:
    return {one.name or "" for one in command.params if isinstance(one, click.Option)}


def test_each_grouped_name_is_an_option_and_in_one_group() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert len(named) == len(set(named))
    assert set(named) <= set().union(*(_options(one) for _, one in _COMMANDS))


@pytest.mark.parametrize(("path", "command"), _COMMANDS, ids=[path for path, _ in _COMMANDS])
def test_a_long_list_leaves_no_option_without_a_group(path: str, command: click.Command) -> None:
    names = _options(command)
    if len(names) > 12:
        assert names - {name for group in GROUPS.values() for name in group} <= _UNGROUPED, path
