"""`fabric doctor`: find missing requirements and suggest fixes."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import Events, PlaceFlags, ScreenFlags, format_examples


class DoctorFlags(Struct, frozen=True):
    place: PlaceFlags
    offline: Annotated[
        bool, click.option("--offline", is_flag=True, help="Skip checks that call the provider.")
    ]
    events: Events
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric doctor                       check the prerequisites of stage dev
fabric doctor --stage prod --provider edge1-workers --json
"""),
)
@pass_flags(DoctorFlags)
def doctor(flags: DoctorFlags) -> int:
    """Check tools, credentials and the state backend.

    Also checks the config and the cache. Missing credentials are a warning for simulated
    deploys. In real mode they are an error (exit code 77). Real mode calls the provider to show
    the identity of your credentials, unless --offline is given. An unreachable state backend
    exits with 69.

    Nothing is changed, except that a remote state backend is tested with an entry that is
    deleted afterwards.
    """
    from fabric.app.doctor.doctor import run_doctor as check_up
    from fabric.cli.perform import Order, build_question_request, perform
    from fabric.engine.listeners.journal import EventFile

    order = Order(build_question_request("doctor", flags.place.where), flags.screen)
    return perform(
        order,
        lambda one, caller: check_up(
            one,
            caller.settings,
            lambda _: [EventFile(caller.settings.cwd / flags.events)] if flags.events else [],
            offline=flags.offline,
        ),
    )
