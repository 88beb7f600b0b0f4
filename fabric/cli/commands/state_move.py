"""`fabric state migrate`: from one kind of back end to another."""

from typing import Any

import click

from fabric.cli.commands.state import SERVICE, finished
from fabric.cli.options import common_options, examples, lock_timeout_option, place_options


@click.command(
    epilog=examples("""
fabric state migrate --from local --to sql
fabric state migrate --from local --to objstore1 --stage prod
""")
)
@place_options
@SERVICE
@common_options
@click.option("--from", "source", default="", metavar="KIND", help="Where the records are.")
@click.option("--to", "target", default="", metavar="KIND", help="Where they are copied to.")
@lock_timeout_option
def migrate(source: str, target: str, **options: Any) -> int:
    """Copy the records of the service, and their archives, to a back end of another kind.

    Everything is read back and compared; the source stays as it is. The keys of both kinds stand
    in the config's `backend` section; set `backend.kind` to the new one afterwards.
    """
    from fabric.app.state.move import migrate_records

    return finished(
        lambda asked, settings, _: migrate_records(asked, settings, source, target),
        "migrate",
        **options,
    )
