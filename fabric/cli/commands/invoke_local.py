"""`fabric invoke local`: one call, or a server."""

import click

from fabric.cli.flags_of import pass_flags
from fabric.cli.local_options import LocalFlags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import format_examples


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
echo '{"id": 1}' | fabric invoke local --function hello
fabric invoke local --path /users/7 --header 'Accept: text/plain'
fabric invoke local --serve --watch
"""),
)
@pass_flags(LocalFlags)
def local(flags: LocalFlags) -> int:
    """Invoke a function locally, or serve it over HTTP.

    Functions are built and packaged as for a deploy, and invoked the way their provider invokes
    them. Pass an event (--event or standard input) or an HTTP request (--path) to invoke once.
    With --serve, requests on 127.0.0.1 are served until you type `exit` or press Ctrl-C. A
    `bootstrap` takes its events from a Lambda Runtime API on this machine.
    """
    from fabric.cli.local_call import call_once, refuse_unfitting

    refuse_unfitting(flags)
    if not flags.serving.serve:
        return call_once(flags)
    from fabric.cli.local_serving import serve_until_exit

    return serve_until_exit(flags)
