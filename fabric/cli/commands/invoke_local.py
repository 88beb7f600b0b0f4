"""`fabric invoke local`: one call, or a server."""

import click

from fabric.cli.flags_of import flags_of
from fabric.cli.local_options import LocalFlags
from fabric.cli.options import examples


@click.command(
    epilog=examples("""
echo '{"id": 1}' | fabric invoke local --function hello
fabric invoke local --path /users/7 --header 'Accept: text/plain'
fabric invoke local --serve --watch
""")
)
@flags_of(LocalFlags)
def local(flags: LocalFlags) -> int:
    """Call a function on this machine.

    What runs is what would be deployed: functions are built and packed first, and called as their
    provider calls them. Once, with an event (--event, or standard input) or an http request
    (--path); or with --serve for every request on 127.0.0.1, until `exit` is typed or Ctrl-C.
    """
    from fabric.cli.local_call import call_once, refuse_unfitting

    refuse_unfitting(flags)
    if not flags.serving.serve:
        return call_once(flags)
    from fabric.cli.local_serving import serve_until_exit

    return serve_until_exit(flags)
