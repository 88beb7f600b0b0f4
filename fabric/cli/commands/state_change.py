"""`fabric state …`: commands that write, move or remove records."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.commands.state import OtherService, RecordFlags, build_state_request, perform_on
from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import LockTimeout, PlaceFlags, ScreenFlags, Yes, format_examples


class PushFlags(Struct, frozen=True):
    record: RecordFlags
    file: Annotated[
        str,
        click.option(
            "--file",
            default="",
            metavar="FILE",
            help="File with the record. [default: the record saved by the failed write]",
        ),
    ]
    force: Annotated[
        bool,
        click.option(
            "--force", is_flag=True, help="Overwrite a stored record that has a higher serial."
        ),
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
            "--out",
            default="",
            metavar="FILE",
            help="File to write. [default: .fabric/state-backup.json]",
        ),
    ]


class RestoreFlags(Struct, frozen=True):
    record: RecordFlags
    file: Annotated[
        str,
        click.option(
            "--file",
            default="",
            metavar="FILE",
            help="Backup file to read. [default: .fabric/state-backup.json]",
        ),
    ]
    yes: Yes
    lock_timeout: LockTimeout


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric state push                      store what the last run could not write
fabric state push --file state.json --force
"""),
)
@pass_flags(PushFlags)
def push(flags: PushFlags) -> int:
    """Store a record from a file.

    The checksum, lineage and serial of the file must match. Without --file, fabric uses the record
    that the last failed write saved on this machine. Deploys are refused until it is stored.
    """
    from fabric.app.state.records import push as push_record

    return perform_on(
        build_state_request("push", flags.record, flags.lock_timeout),
        flags.record.screen,
        lambda one, settings, _: push_record(one, settings, flags.file, force=flags.force),
    )


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric state rm --stage old
fabric state rm --stage old --provider edge1-workers --yes
"""),
)
@pass_flags(ForgetFlags)
def rm(flags: ForgetFlags) -> int:
    """Remove state without deleting resources.

    The provider is not called, and fabric no longer manages the deployed resources. To delete
    them too, use `fabric remove`.
    """
    from fabric.app.state.records import remove_record

    asked = build_state_request("rm", flags.record, flags.lock_timeout)
    return perform_on(asked, flags.record.screen, remove_record, yes=flags.yes)


@click.command(
    cls=GroupedCommand,
    name="force-unlock",
    epilog=format_examples("""
fabric state force-unlock
fabric state force-unlock --stage prod --provider cloud1-lambda --yes
"""),
)
@pass_flags(UnlockFlags)
def force_unlock(flags: UnlockFlags) -> int:
    """Remove a lock.

    Use it for a lock whose process no longer exists. A running process stops with an error when
    it finds its lock removed.
    """
    from fabric.app.state.records import force_unlock as take_away

    asked = build_state_request("force-unlock", flags.record)
    return perform_on(asked, flags.record.screen, take_away, yes=flags.yes)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric state backup                      write to .fabric/state-backup.json
fabric state backup --stage prod --out prod-state.json
"""),
)
@pass_flags(BackupFlags)
def backup(flags: BackupFlags) -> int:
    """Write all records to one file.

    The file contains a SHA-256 hash of the records.
    """
    from fabric.app.state.copies import write_backup

    return perform_on(
        build_state_request("backup", flags.record),
        flags.record.screen,
        lambda one, settings, _: write_backup(one, settings, flags.out),
    )


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric state restore                     restore .fabric/state-backup.json
fabric state restore --file prod-state.json --stage prod --yes
"""),
)
@pass_flags(RestoreFlags)
def restore(flags: RestoreFlags) -> int:
    """Restore the records of a backup.

    The whole file is checked before anything is written. Records that the file does not contain
    are not changed. Receipts are written again.
    """
    from fabric.app.state.copies import restore_backup

    return perform_on(
        build_state_request("restore", flags.record, flags.lock_timeout),
        flags.record.screen,
        lambda one, settings, agrees: restore_backup(one, settings, flags.file, agrees),
        yes=flags.yes,
    )


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
    from fabric.model.time.time_spans import parse_seconds

    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)
    asked = StateRequest("state migrate", flags.place.where, flags.service, lock_timeout=timeout)
    return perform_on(
        asked,
        flags.screen,
        lambda one, settings, _: migrate_records(one, settings, flags.source, flags.target),
    )
