"""`fabric invoke …`: call functions."""

from typing import Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli import commands_table as table
from fabric.cli.flags_of import flags_of
from fabric.cli.main import LazyGroup
from fabric.cli.options import PlaceFlags, ScreenFlags, event_file, examples, one_function

invoke = LazyGroup(
    name="invoke",
    help="Call functions, and look at what became of calls.",
    epilog="Examples:\n"
    "  fabric invoke local --serve --watch\n"
    "  fabric invoke run --function hello --event event.json --stage prod",
    no_args_is_help=True,
).listing(table.INVOKE)


class InvokeFlags(Struct, frozen=True):
    place: PlaceFlags
    function: Annotated[str, one_function("The function to call.")]
    event: Annotated[str, event_file("The payload as a file; else standard input.")]
    screen: ScreenFlags


@click.command(
    epilog=examples("""
echo '{"id": 1}' | fabric invoke run --function hello
fabric invoke run --function hello --event event.json --stage prod
""")
)
@flags_of(InvokeFlags)
def run(flags: InvokeFlags) -> int:
    """Call a deployed function.

    The receipt of the stage says where it is. A simulated deployment runs on this machine, from
    the archive that was deployed: the source may be gone. It is called as its provider calls it;
    a payload that is no http event is posted where requests are wanted. The payload is JSON.
    """
    from fabric.app.invoke import invoke_run
    from fabric.cli.payload import payload
    from fabric.cli.perform import Order, perform, question

    request = question("invoke run", flags.place.where)
    request = replace(request, functions=frozenset(filter(None, (flags.function,))))
    return perform(
        Order(request, flags.screen),
        lambda one, caller: invoke_run(one, caller.settings, payload(flags.event, caller.settings)),
    )
