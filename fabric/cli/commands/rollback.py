"""`fabric rollback` and `fabric releases`: list and restore previous deployments."""

from typing import Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import Events, LockTimeout, PlaceFlags, ScreenFlags, format_examples
from fabric.cli.run_options import Otlp


class RollbackFlags(Struct, frozen=True):
    to: Annotated[
        str,
        click.option(
            "--to",
            default="",
            metavar="ID",
            help="ID of the deployment to restore. [default: the previous one]",
        ),
    ]
    with_current_environment: Annotated[
        bool,
        click.option(
            "--with-current-environment",
            is_flag=True,
            help="Use current environment values instead of the old ones.",
        ),
    ]
    with_stack: Annotated[
        bool,
        click.option(
            "--with-stack",
            is_flag=True,
            help="Also restore the templates and parameters of CloudFormation stacks.",
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
    cls=GroupedCommand,
    epilog=format_examples("""
fabric rollback                          restore the previous deployment
fabric rollback --to cloud1-lambda-prod-1767225600-1a2b3c --stage prod
fabric rollback --with-stack             also restore the CloudFormation stacks
"""),
)
@pass_flags(RollbackFlags)
def rollback(flags: RollbackFlags) -> int:
    """Roll back to a previous deployment.

    Uses stored archives and settings, so the source is not needed. Environment values are
    stored, encrypted, only if FABRIC_STATE_KEY is set. Without FABRIC_STATE_KEY, the current
    values must equal the old ones.
    """
    from fabric.app.deploy.rollback import RollbackOptions
    from fabric.app.deploy.rollback import rollback as go_back
    from fabric.cli.consent import build_word_prompt
    from fabric.cli.perform import Order, Outlets, build_question_request, perform
    from fabric.model.time.time_spans import parse_seconds

    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)
    environment = flags.with_current_environment
    options = RollbackOptions(flags.to, environment, timeout, with_stack=flags.with_stack)
    request = build_question_request("rollback", flags.place.where)
    return perform(
        Order(request, flags.screen, Outlets(flags.events, otlp=flags.otlp)),
        lambda one, caller: go_back(
            one,
            caller.settings,
            replace(options, ask=build_word_prompt(caller.screen, caller.settings)),
            caller.make_listeners,
        ),
    )


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric releases                show the deployments of stage dev
fabric releases --stage prod --json
"""),
)
@pass_flags(ReleasesFlags)
def releases(flags: ReleasesFlags) -> int:
    """List deployments, newest first. * marks the active one."""
    from fabric.app.deploy.rollback import report_releases as list_releases
    from fabric.cli.perform import Order, build_question_request, perform

    order = Order(build_question_request("releases", flags.place.where), flags.screen)
    return perform(order, lambda one, caller: list_releases(one, caller.settings))
