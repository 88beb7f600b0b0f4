"""`fabric outputs`: show the outputs of a deployed service."""

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import PlaceFlags, ScreenFlags, format_examples


class ServiceOutputsFlags(Struct, frozen=True):
    place: PlaceFlags
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric outputs                      endpoints of this service in stage dev
fabric outputs --stage prod --json
"""),
)
@pass_flags(ServiceOutputsFlags)
def outputs(flags: ServiceOutputsFlags) -> int:
    """Show the endpoint and outputs of a deployed service."""
    from fabric.app.compose import report_outputs as outputs_of
    from fabric.cli.perform import Order, build_question_request, perform

    order = Order(build_question_request("outputs", flags.place.where), flags.screen)
    return perform(order, lambda one, caller: outputs_of(one, caller.settings))
