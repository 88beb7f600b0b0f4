"""`fabric rollback` and `fabric releases`: back to what was live before."""

from typing import Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.flags_of import flags_of
from fabric.cli.options import Events, LockTimeout, PlaceFlags, ScreenFlags, examples
from fabric.cli.run_options import Otlp


class RollbackFlags(Struct, frozen=True):
    to: Annotated[
        str,
        click.option("--to", default="", metavar="ID", help="The deployment to go back to."),
    ]
    with_current_environment: Annotated[
        bool,
        click.option(
            "--with-current-environment",
            is_flag=True,
            help="Take today's values where variables had other values then.",
        ),
    ]
    place: PlaceFlags
    lock_timeout: LockTimeout
    events: Events
    otlp: Otlp
    screen: ScreenFlags


class ReleasesFlags(Struct, frozen=True):
    place: PlaceFlags
    screen: ScreenFlags


@click.command(
    epilog=examples("""
fabric rollback                          back to the deployment before this one
fabric rollback --to cloud1-lambda-prod-1767225600-1a2b3c --stage prod
""")
)
@flags_of(RollbackFlags)
def rollback(flags: RollbackFlags) -> int:
    """Go back to an earlier deployment.

    From kept archives and settings: the source is not needed. Values of variables are kept only
    with FABRIC_STATE_KEY, sealed; without it, those of today have to be those of then.
    """
    from fabric.app.deploy.rollback import RollbackOptions
    from fabric.app.deploy.rollback import rollback as go_back
    from fabric.cli.consent import word_asker
    from fabric.cli.perform import Order, Outlets, perform, question
    from fabric.model.time_spans import seconds_of

    timeout = seconds_of("--lock-timeout", flags.lock_timeout)
    options = RollbackOptions(flags.to, flags.with_current_environment, timeout)
    request = question("rollback", flags.place.where)
    return perform(
        Order(request, flags.screen, Outlets(flags.events, otlp=flags.otlp)),
        lambda one, caller: go_back(
            one,
            caller.settings,
            replace(options, ask=word_asker(caller.screen, caller.settings)),
            caller.make_listeners,
        ),
    )


@click.command(
    epilog=examples("""
fabric releases                what is live in stage dev, and what was before
fabric releases --stage prod --json
""")
)
@flags_of(ReleasesFlags)
def releases(flags: ReleasesFlags) -> int:
    """List what was deployed, newest first; * marks what is live."""
    from fabric.app.deploy.rollback import releases as list_releases
    from fabric.cli.perform import Order, perform, question

    order = Order(question("releases", flags.place.where), flags.screen)
    return perform(order, lambda one, caller: list_releases(one, caller.settings))
