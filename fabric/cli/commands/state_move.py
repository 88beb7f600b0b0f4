"""`fabric state migrate`: from one kind of back end to another."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.commands.state import OtherService, perform_on
from fabric.cli.flags_of import flags_of
from fabric.cli.options import LockTimeout, PlaceFlags, ScreenFlags, examples


class MigrateFlags(Struct, frozen=True):
    place: PlaceFlags
    service: OtherService
    screen: ScreenFlags
    source: Annotated[
        str,
        click.option("--from", "source", default="", metavar="KIND", help="Where the records are."),
    ]
    target: Annotated[
        str,
        click.option(
            "--to", "target", default="", metavar="KIND", help="Where they are copied to."
        ),
    ]
    lock_timeout: LockTimeout


@click.command(
    epilog=examples("""
fabric state migrate --from local --to sql
fabric state migrate --from local --to objstore1 --stage prod
""")
)
@flags_of(MigrateFlags)
def migrate(flags: MigrateFlags) -> int:
    """Copy the records of the service, and their archives, to a back end of another kind.

    Everything is read back and compared; the source stays as it is. The keys of both kinds stand
    in the config's `backend` section; set `backend.kind` to the new one afterwards.
    """
    from fabric.app.state.move import migrate_records
    from fabric.app.state.scope import StateRequest
    from fabric.model.time_spans import seconds_of

    timeout = seconds_of("--lock-timeout", flags.lock_timeout)
    asked = StateRequest("state migrate", flags.place.where, flags.service, lock_timeout=timeout)
    return perform_on(
        asked,
        flags.screen,
        lambda one, settings, _: migrate_records(one, settings, flags.source, flags.target),
    )
