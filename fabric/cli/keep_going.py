"""`--keep-going`: continue after failures, and the options it conflicts with."""

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import click

KeepGoing: TypeAlias = Annotated[
    bool,
    click.option(
        "--keep-going",
        is_flag=True,
        help="Deploy the functions that build, even if others fail.",
    ),
]


def refuse_opposites(opposites: Mapping[str, bool], *, keep_going: bool) -> None:
    """Reject conflicting options. `opposites` pairs each with whether it was given."""
    from fabric.model.problems import FabricError, Problem

    for name in (name for name, is_given in opposites.items() if is_given and keep_going):
        message = f"--keep-going cannot be combined with {name}"
        raise FabricError(Problem("usage/opposites", message, hint="remove one of them"))
