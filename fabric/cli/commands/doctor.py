"""`fabric doctor`: what is missing here, and what to do about it."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.options import Events, PlaceFlags, ScreenFlags, examples


class DoctorFlags(Struct, frozen=True):
    place: PlaceFlags
    offline: Annotated[
        bool, click.option("--offline", is_flag=True, help="Ask no provider who we are.")
    ]
    events: Events
    screen: ScreenFlags


@click.command(
    epilog=examples("""
fabric doctor                       is everything here for stage dev?
fabric doctor --stage prod --provider edge1-workers --json
""")
)
@flags_of(DoctorFlags)
def doctor(flags: DoctorFlags) -> int:
    """Check the config, credentials, tools, the state back end and the cache.

    Missing credentials are a warning while deploys are simulated, and exit code 77 in real mode.
    A back end that cannot be reached is exit code 69. In real mode the provider is asked who we
    are, unless `--offline` is given. Nothing is changed; in a back end that is elsewhere one entry
    is written and taken away again.
    """
    from fabric.app.doctor.doctor import doctor as check_up
    from fabric.cli.perform import Order, perform, question
    from fabric.engine.listeners.journal import EventFile

    order = Order(question("doctor", flags.place.where), flags.screen)
    return perform(
        order,
        lambda one, caller: check_up(
            one,
            caller.settings,
            lambda _: [EventFile(caller.settings.cwd / flags.events)] if flags.events else [],
            offline=flags.offline,
        ),
    )
