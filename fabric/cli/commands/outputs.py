"""`fabric outputs`: show the outputs of a deployed service."""

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import PlaceFlags, ScreenFlags, examples


class ServiceOutputsFlags(Struct, frozen=True):
    place: PlaceFlags
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=examples("""
fabric outputs                      endpoints of this service in stage dev
fabric outputs --stage prod --json
"""),
)
@flags_of(ServiceOutputsFlags)
def outputs(flags: ServiceOutputsFlags) -> int:
    """Show the endpoint and outputs of a deployed service."""
    from fabric.app.compose import outputs as outputs_of
    from fabric.cli.perform import Order, perform, question

    order = Order(question("outputs", flags.place.where), flags.screen)
    return perform(order, lambda one, caller: outputs_of(one, caller.settings))
