"""`fabric schema NAME`: a JSON Schema, for editors and for programs that read fabric's JSON."""

from typing import Any

import click

from fabric.cli.options import common_options, examples

_NAMES = (
    "config", "compose", "plan", "events", "report", "state",
    "backup", "deploy-answer", "deploy-record", "receipt", "saved-plan",
)  # fmt: skip


@click.command(
    epilog=examples("""
fabric schema config > fabric.schema.json     for the editor that you write fabric.yml with
fabric schema events                          what --events writes, line by line
""")
)
@click.argument("name", type=click.Choice(_NAMES), default="config")
@common_options
def schema(name: str, **options: Any) -> int:
    """Print a JSON Schema (draft-07): of a file you write, or of what fabric answers."""
    from fabric.app.schemas import schema as read_schema
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    screen = Screen.of(read_settings(), as_json=options["as_json"], colour=options["color"])
    return screen.finish(read_schema(name))
