"""A command's options as one frozen value: each field has a type and a click option.

A field is `Annotated` with click's decorator under its click name. Any other field is a class of
further fields.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Annotated, TypeAlias, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource
from msgspec import Struct

Flags = TypeVar("Flags", bound=Struct)
Called: TypeAlias = Callable[..., int]
Option: TypeAlias = Callable[[Called], Called]


def pass_flags(kind: type[Flags]) -> Callable[[Callable[[Flags], int]], Called]:
    """Make a decorator that calls the command with one value of this class."""

    def wrap_command(command: Callable[[Flags], int]) -> Called:
        @wraps(command)  # its name and its help are the command's
        def run_command(**said: object) -> int:
            _refuse_empty(said)
            return command(fill_flags(kind, said))

        made: Called = run_command
        for option in reversed(tuple(_list_options(kind))):
            made = option(made)
        return made

    return wrap_command


def _refuse_empty(said: Mapping[str, object]) -> None:
    """Reject empty values: `--stage "$UNSET"` must not mean the default, which can be another
    stage."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        value = said.get(name)
        if is_typed and (value == "" or (isinstance(value, tuple) and "" in value)):
            raise _empty_value_error(parameter)
        if is_typed and isinstance(parameter, click.Option) and _is_option(value, context):
            raise _option_as_value_error(parameter, str(value))


def _is_option(value: object, context: click.Context) -> bool:
    """`--stage --json`: a forgotten value takes the next option for its own."""
    known = (name for one in context.command.params for name in one.opts)
    return isinstance(value, str) and value.startswith("-") and value in known


def _option_as_value_error(option: click.Parameter, value: str) -> Exception:
    from fabric.model.problems import FabricError, Problem

    message = f"{max(option.opts, key=len)} requires a value, got the option {value}"
    return FabricError(Problem("usage/empty-value", message))


def _empty_value_error(parameter: click.Parameter) -> Exception:
    from fabric.model.problems import FabricError, Problem

    is_option = isinstance(parameter, click.Option)
    title = max(parameter.opts, key=len) if is_option else parameter.human_readable_name
    hint = "check that the variable in the command is set" + (
        ", or omit the option to use its default" if is_option else ""
    )
    return FabricError(Problem("usage/empty-value", f"empty value for {title}", hint))


def fill_flags(kind: type[Flags], said: Mapping[str, object]) -> Flags:
    """Build a value of this class, including nested ones, from click's parsed values."""
    return kind(
        **{
            name: fill_flags(hint, said) if isinstance(hint, type) else said[name]
            for name, hint in _list_fields(kind)
        }
    )


def _list_options(kind: type[Struct]) -> Iterator[Option]:
    for _, hint in _list_fields(kind):
        yield from _list_options(hint) if isinstance(hint, type) else (hint,)


def _list_fields(kind: type[Struct]) -> Iterator[tuple[str, type[Struct] | Option]]:
    """Yield the fields in order, each with its option or its nested class."""
    for name, hint in kind.__annotations__.items():
        yield name, get_args(hint)[1] if get_origin(hint) is Annotated else hint
