"""`fabric dev`: the loop of a working day."""

import click

from fabric.cli.flags_of import flags_of
from fabric.cli.local_options import DevFlags
from fabric.cli.options import examples


@click.command(
    epilog=examples("""
fabric dev --preset queue --once         one batch of three messages
fabric dev --watch --function hello      its own trigger's event, again for each edit
""")
)
@flags_of(DevFlags)
def dev(flags: DevFlags) -> int:
    """Call functions with sample events.

    What runs is what would be deployed: functions are built and packed first. Events have the
    shapes of their kinds, and fit the function's own trigger. Of a queue's batch it is shown which
    messages would come back. Enter calls again; `exit` or Ctrl-C ends it.
    """
    from fabric.cli.local_serving import run_dev

    return run_dev(flags)
