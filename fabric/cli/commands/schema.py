"""`fabric schema NAME`: a JSON Schema, for editors and for programs that read fabric's JSON."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.options import ScreenFlags, examples

_NAMES = (
    "config", "compose", "plan", "events", "report", "state",
    "backup", "deploy-answer", "deploy-order", "deploy-record", "receipt", "saved-plan",
)  # fmt: skip


class SchemaFlags(Struct, frozen=True):
    name: Annotated[str, click.argument("name", type=click.Choice(_NAMES), default="config")]
    screen: ScreenFlags


@click.command(
    epilog=examples("""
fabric schema config > fabric.schema.json     for the editor that you write fabric.yml with
fabric schema events                          what --events writes, line by line
""")
)
@flags_of(SchemaFlags)
def schema(flags: SchemaFlags) -> int:
    """Print a JSON Schema (draft-07): of a file you write, or of what fabric answers."""
    from fabric.app.schemas import schema as read_schema
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda _: read_schema(flags.name))
