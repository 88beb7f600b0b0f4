"""`fabric state migrate`: copy state to another backend."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.commands.state import OtherService, perform_on
from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import LockTimeout, PlaceFlags, ScreenFlags, format_examples


class MigrateFlags(Struct, frozen=True):
    place: PlaceFlags
    service: OtherService
    screen: ScreenFlags
    source: Annotated[
        str,
        click.option(
            "--from", "source", default="", metavar="KIND", help="Backend to copy records from."
        ),
    ]
    target: Annotated[
        str,
        click.option(
            "--to", "target", default="", metavar="KIND", help="Backend to copy records to."
        ),
    ]
    lock_timeout: LockTimeout


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric state migrate --from local --to sql
fabric state migrate --from local --to objstore1 --stage prod
"""),
)
@pass_flags(MigrateFlags)
def migrate(flags: MigrateFlags) -> int:
    """Copy all records to another backend.

    Archives are copied too. Every copy is read back and compared. The source is not changed.
    The `backend` section of the config must contain the keys of both kinds. Set `backend.kind`
    to the new kind afterwards.
    """
    from fabric.app.state.copies import migrate_records
    from fabric.app.state.scope import StateRequest
    from fabric.model.time_spans import parse_seconds

    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)
    asked = StateRequest("state migrate", flags.place.where, flags.service, lock_timeout=timeout)
    return perform_on(
        asked,
        flags.screen,
        lambda one, settings, _: migrate_records(one, settings, flags.source, flags.target),
    )
