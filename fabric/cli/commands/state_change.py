"""`fabric state …`: records written, moved, or taken away."""

from typing import Any

import click

from fabric.cli.commands.state import finished, scope_options
from fabric.cli.options import examples, lock_timeout_option, yes_option


@click.command(
    epilog=examples("""
fabric state push                      what the last run could not write
fabric state push --file state.json --force
""")
)
@scope_options
@click.option("--file", default="", metavar="FILE", help="The record; else what waits for it.")
@click.option("--force", is_flag=True, help="Also when the stored one has a higher serial.")
@lock_timeout_option
def push(file: str, force: bool, **options: Any) -> int:  # noqa: FBT001 - a flag
    """Store a record from a file.

    Its checksum, lineage and serial have to fit. Without a file it is the state that a run could
    not write to its back end; it blocks deploys until then.
    """
    from fabric.app.state.change import push as push_record

    return finished(
        lambda asked, settings, _: push_record(asked, settings, file, force=force),
        "push",
        **options,
    )


@click.command(
    epilog=examples("""
fabric state rm --stage old
fabric state rm --stage old --provider edge1-workers --yes
""")
)
@scope_options
@yes_option
@lock_timeout_option
def rm(**options: Any) -> int:
    """Forget a record without asking its provider.

    What was deployed stays where it is, and nothing here knows of it any more: `fabric remove`
    removes both.
    """
    from fabric.app.state.change import remove_record

    return finished(remove_record, "rm", **options)


@click.command(
    name="force-unlock",
    epilog=examples("""
fabric state force-unlock
fabric state force-unlock --stage prod --provider cloud1-lambda --yes
"""),
)
@scope_options
@yes_option
def force_unlock(**options: Any) -> int:
    """Take a lock away from its holder.

    For a holder that is gone for good: one that lives ends with an error when it sees it.
    """
    from fabric.app.state.change import force_unlock as take_away

    return finished(take_away, "force-unlock", **options)


@click.command(
    epilog=examples("""
fabric state backup                      to .fabric/state-backup.json
fabric state backup --stage prod --out prod-state.json
""")
)
@scope_options
@click.option("--out", default="", metavar="FILE", help="[default: .fabric/state-backup.json]")
def backup(out: str, **options: Any) -> int:
    """Write all records of the service to one file, under one digest."""
    from fabric.app.state.backup import backup as write_backup

    return finished(
        lambda asked, settings, _: write_backup(asked, settings, out), "backup", **options
    )


@click.command(
    epilog=examples("""
fabric state restore                     from .fabric/state-backup.json
fabric state restore --file prod-state.json --stage prod --yes
""")
)
@scope_options
@click.option("--file", default="", metavar="FILE", help="[default: .fabric/state-backup.json]")
@yes_option
@lock_timeout_option
def restore(file: str, **options: Any) -> int:
    """Put the records of a backup back.

    All of the file is checked before anything is written. Records that it does not hold stay as
    they are; receipts are made anew.
    """
    from fabric.app.state.backup import restore_backup

    return finished(
        lambda asked, settings, agrees: restore_backup(asked, settings, file, agrees),
        "restore",
        **options,
    )
