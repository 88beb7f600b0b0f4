"""A command's options as one frozen value: a field says its type, and the option that gives it.

A field is `Annotated` with click's decorator, under the name that click knows; any other field is
a class of such fields, whose options come in its place.
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


def flags_of(kind: type[Flags]) -> Callable[[Callable[[Flags], int]], Called]:
    """The command is called with one value of this class."""

    def taking(command: Callable[[Flags], int]) -> Called:
        @wraps(command)  # its name and its help are the command's
        def called(**said: object) -> int:
            _refuse_empty(said)
            return command(filled(kind, said))

        made: Called = called
        for option in reversed(tuple(_options(kind))):
            made = option(made)
        return made

    return taking


def _refuse_empty(said: Mapping[str, object]) -> None:
    """`--stage "$UNSET"` must not come to the default: it may be about another stage."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        value = said.get(name)
        if is_typed and (value == "" or (isinstance(value, tuple) and "" in value)):
            raise _empty(parameter)
        if is_typed and isinstance(parameter, click.Option) and _is_option(value, context):
            raise _swallowed(parameter, str(value))


def _is_option(value: object, context: click.Context) -> bool:
    """`--stage --json`: a forgotten value takes the next option for its own."""
    known = (name for one in context.command.params for name in one.opts)
    return isinstance(value, str) and value.startswith("-") and value in known


def _swallowed(option: click.Parameter, value: str) -> Exception:
    from fabric.model.problems import FabricError, Problem

    message = f"{max(option.opts, key=len)} requires a value, got the option {value}"
    return FabricError(Problem("usage/empty-value", message))


def _empty(parameter: click.Parameter) -> Exception:
    from fabric.model.problems import FabricError, Problem

    is_option = isinstance(parameter, click.Option)
    title = max(parameter.opts, key=len) if is_option else parameter.human_readable_name
    hint = "check that the variable in the command is set" + (
        ", or omit the option to use its default" if is_option else ""
    )
    return FabricError(Problem("usage/empty-value", f"empty value for {title}", hint))


def filled(kind: type[Flags], said: Mapping[str, object]) -> Flags:
    """A value of this class, and of those inside it, of what click read from the line."""
    return kind(
        **{
            name: filled(hint, said) if isinstance(hint, type) else said[name]
            for name, hint in _fields(kind)
        }
    )


def _options(kind: type[Struct]) -> Iterator[Option]:
    for _, hint in _fields(kind):
        yield from _options(hint) if isinstance(hint, type) else (hint,)


def _fields(kind: type[Struct]) -> Iterator[tuple[str, type[Struct] | Option]]:
    """The fields in their order: each with its option, or with the class of more of them."""
    for name, hint in kind.__annotations__.items():
        yield name, get_args(hint)[1] if get_origin(hint) is Annotated else hint
