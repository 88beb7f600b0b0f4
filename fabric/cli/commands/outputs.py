"""`fabric outputs`: what a deployed service gives."""

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.options import PlaceFlags, ScreenFlags, examples


class ServiceOutputsFlags(Struct, frozen=True):
    place: PlaceFlags
    screen: ScreenFlags


@click.command(
    epilog=examples("""
fabric outputs                     the addresses of this service in stage dev
fabric outputs --stage prod --json for a script
""")
)
@flags_of(ServiceOutputsFlags)
def outputs(flags: ServiceOutputsFlags) -> int:
    """Print the endpoint and outputs of a service that is deployed."""
    from fabric.app.compose import outputs as outputs_of
    from fabric.cli.perform import Order, perform, question

    order = Order(question("outputs", flags.place.where), flags.screen)
    return perform(order, lambda one, caller: outputs_of(one, caller.settings))
