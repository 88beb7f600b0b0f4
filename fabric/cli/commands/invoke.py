"""`fabric invoke …`: call functions."""

from typing import Any

import click

from fabric.cli import commands_table as table
from fabric.cli.commands.build import request_of
from fabric.cli.main import LazyGroup
from fabric.cli.options import common_options, examples, place_options

invoke = LazyGroup(
    table.INVOKE,
    name="invoke",
    help="Call functions.",
    epilog="Examples:\n"
    "  echo '{}' | fabric invoke run --function hello\n"
    "  fabric invoke run --function hello --event event.json --stage prod",
    no_args_is_help=True,
)


@click.command(
    epilog=examples("""
echo '{"id": 1}' | fabric invoke run --function hello
fabric invoke run --function hello --event event.json --stage prod
""")
)
@place_options
@click.option("--function", default="", metavar="NAME", help="The function to call.")
@click.option(
    "--event", default="", metavar="FILE", help="The payload as a file; else standard input."
)
@common_options
def run(**options: Any) -> int:
    """Call a deployed function.

    The receipt of the stage says where it is. A simulated deployment runs on this machine, from
    the archive that was deployed: the source may be gone. The payload is JSON.
    """
    from fabric.app.invoke import invoke_run
    from fabric.app.settings import read_settings
    from fabric.cli.payload import payload
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    function = options.pop("function")
    request = request_of(
        "deploy", "invoke run", functions=(function,) if function else (), **options
    )
    event = payload(options["event"], settings.cwd)
    return screen.finish(invoke_run(request, settings, event))
