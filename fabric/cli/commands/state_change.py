"""`fabric state …`: records written, moved, or taken away."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.commands.state import RecordFlags, asked_of, perform_on
from fabric.cli.flags_of import flags_of
from fabric.cli.options import LockTimeout, Yes, examples


class PushFlags(Struct, frozen=True):
    record: RecordFlags
    file: Annotated[
        str,
        click.option(
            "--file", default="", metavar="FILE", help="The record; else what waits for it."
        ),
    ]
    force: Annotated[
        bool,
        click.option("--force", is_flag=True, help="Also when the stored one has a higher serial."),
    ]
    lock_timeout: LockTimeout


class ForgetFlags(Struct, frozen=True):
    record: RecordFlags
    yes: Yes
    lock_timeout: LockTimeout


class UnlockFlags(Struct, frozen=True):
    record: RecordFlags
    yes: Yes


class BackupFlags(Struct, frozen=True):
    record: RecordFlags
    out: Annotated[
        str,
        click.option(
            "--out", default="", metavar="FILE", help="[default: .fabric/state-backup.json]"
        ),
    ]


class RestoreFlags(Struct, frozen=True):
    record: RecordFlags
    file: Annotated[
        str,
        click.option(
            "--file", default="", metavar="FILE", help="[default: .fabric/state-backup.json]"
        ),
    ]
    yes: Yes
    lock_timeout: LockTimeout


@click.command(
    epilog=examples("""
fabric state push                      what the last run could not write
fabric state push --file state.json --force
""")
)
@flags_of(PushFlags)
def push(flags: PushFlags) -> int:
    """Store a record from a file.

    Its checksum, lineage and serial have to fit. Without a file it is the state that a run could
    not write to its back end; it blocks deploys until then.
    """
    from fabric.app.state.change import push as push_record

    return perform_on(
        asked_of("push", flags.record, flags.lock_timeout),
        flags.record.screen,
        lambda one, settings, _: push_record(one, settings, flags.file, force=flags.force),
    )


@click.command(
    epilog=examples("""
fabric state rm --stage old
fabric state rm --stage old --provider edge1-workers --yes
""")
)
@flags_of(ForgetFlags)
def rm(flags: ForgetFlags) -> int:
    """Forget a record without asking its provider.

    What was deployed stays where it is, and nothing here knows of it any more: `fabric remove`
    removes both.
    """
    from fabric.app.state.change import remove_record

    asked = asked_of("rm", flags.record, flags.lock_timeout)
    return perform_on(asked, flags.record.screen, remove_record, yes=flags.yes)


@click.command(
    name="force-unlock",
    epilog=examples("""
fabric state force-unlock
fabric state force-unlock --stage prod --provider cloud1-lambda --yes
"""),
)
@flags_of(UnlockFlags)
def force_unlock(flags: UnlockFlags) -> int:
    """Take a lock away from its holder.

    For a holder that is gone for good: one that lives ends with an error when it sees it.
    """
    from fabric.app.state.change import force_unlock as take_away

    asked = asked_of("force-unlock", flags.record)
    return perform_on(asked, flags.record.screen, take_away, yes=flags.yes)


@click.command(
    epilog=examples("""
fabric state backup                      to .fabric/state-backup.json
fabric state backup --stage prod --out prod-state.json
""")
)
@flags_of(BackupFlags)
def backup(flags: BackupFlags) -> int:
    """Write all records of the service to one file, under one digest."""
    from fabric.app.state.backup import backup as write_backup

    return perform_on(
        asked_of("backup", flags.record),
        flags.record.screen,
        lambda one, settings, _: write_backup(one, settings, flags.out),
    )


@click.command(
    epilog=examples("""
fabric state restore                     from .fabric/state-backup.json
fabric state restore --file prod-state.json --stage prod --yes
""")
)
@flags_of(RestoreFlags)
def restore(flags: RestoreFlags) -> int:
    """Put the records of a backup back.

    All of the file is checked before anything is written. Records that it does not hold stay as
    they are; receipts are made anew.
    """
    from fabric.app.state.backup import restore_backup

    return perform_on(
        asked_of("restore", flags.record, flags.lock_timeout),
        flags.record.screen,
        lambda one, settings, agrees: restore_backup(one, settings, flags.file, agrees),
        yes=flags.yes,
    )
