"""`fabric invoke dev`: what users of a deployed stage ask for, answered on this machine."""

import click

from fabric.cli.flags_of import flags_of
from fabric.cli.options import examples
from fabric.cli.stream_options import StreamFlags


@click.command(
    epilog=examples("""
fabric invoke dev --stream-from dev --tunnel-url https://name.example.net
fabric invoke dev --stream-from dev --restore    after a run that was killed
""")
)
@flags_of(StreamFlags)
def dev(flags: StreamFlags) -> int:
    """Answer the requests of a deployed stage on this machine.

    Functions are served on 127.0.0.1 and built again for each edit, as with `invoke local --serve
    --watch`. Once it is proven that the tunnel leads here, the routes of the stage are turned to
    it; `exit` or Ctrl-C turns them back. Nobody deploys to the stage meanwhile. If the run is
    killed, the next `invoke dev` puts the routes back, and `deploy` refuses until then.

    Real deployments at cloud1 and edge1 are turned; of others it is told what to point where.
    """
    from fabric.cli.dev_streaming import restore_routes, stream_until_exit

    return restore_routes(flags) if flags.restore else stream_until_exit(flags)
