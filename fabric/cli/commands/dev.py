"""`fabric dev`: the loop of a working day."""

import click

from fabric.cli.flags_of import pass_flags
from fabric.cli.local_options import DevFlags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import format_examples


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric dev --preset queue --once         invoke with one batch of three messages
fabric dev --watch --function hello      invoke again after each edit
"""),
)
@pass_flags(DevFlags)
def dev(flags: DevFlags) -> int:
    """Run functions with sample events and rebuild on edits.

    Functions are built and packaged as for a deploy. Sample events match the function's own
    triggers. For a queue batch, the messages that would be retried are shown. Press Enter to
    invoke again. Type `exit` or press Ctrl-C to stop.
    """
    from fabric.cli.local_serving import run_dev

    return run_dev(flags)
