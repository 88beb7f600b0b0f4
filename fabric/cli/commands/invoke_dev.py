"""`fabric invoke dev`: answer requests of a deployed stage on this machine."""

import click

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import format_examples
from fabric.cli.stream_options import StreamFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric invoke dev --stream-from dev --tunnel-url https://name.example.net
fabric invoke dev --stream-from dev --restore    restore the routes of a killed run
"""),
)
@pass_flags(StreamFlags)
def dev(flags: StreamFlags) -> int:
    """Route requests of a deployed stage to this machine.

    Functions are served on 127.0.0.1 and rebuilt after each edit, as with `invoke local --serve
    --watch`. After the tunnel is verified, the routes of the stage are changed to the tunnel.
    Type `exit` or press Ctrl-C to restore the routes. If the run is killed, deploys to the
    stage are refused until `invoke dev --restore` or the next `invoke dev` restores the routes.

    Routes are changed at AWS Lambda (`cloud1-lambda`) and Cloudflare Workers (`edge1-workers`).
    For other providers, the required route changes are printed.
    """
    from fabric.cli.dev_streaming import restore_routes, stream_until_exit

    return restore_routes(flags) if flags.restore else stream_until_exit(flags)
