"""`fabric schema NAME`: a JSON Schema, for editors and for programs that read fabric's JSON."""

import json
from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import ScreenFlags, format_examples

if TYPE_CHECKING:
    from fabric.model.report import Report

_NAMES = (
    "config", "compose", "plan", "events", "report", "state",
    "backup", "deploy-answer", "deploy-order", "deploy-record", "receipt", "saved-plan",
)  # fmt: skip


class SchemaFlags(Struct, frozen=True):
    name: Annotated[str, click.argument("name", type=click.Choice(_NAMES), default="config")]
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric schema config > fabric.schema.json   use the schema in an editor
fabric schema events                        describe the lines that --events writes
"""),
)
@pass_flags(SchemaFlags)
def schema(flags: SchemaFlags) -> int:
    """Print a JSON Schema (draft-07) of a config, plan or result."""
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda _: report_schema(flags.name))


def report_schema(name: str) -> "Report":
    from fabric.model.outcomes.queried import DocumentOutcome
    from fabric.model.report import Report
    from fabric.system.schemas import read_schema_text

    text = read_schema_text(name)
    return Report("schema", DocumentOutcome(json.loads(text), text.rstrip("\n")))
