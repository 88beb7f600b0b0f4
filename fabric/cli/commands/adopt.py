"""`fabric adopt`: take over functions that another tool deployed, and undo it."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import LockTimeout, PlaceFlags, ScreenFlags, format_examples


class AdoptFlags(Struct, frozen=True):
    stack: Annotated[
        str,
        click.option(
            "--stack",
            default="",
            metavar="NAME",
            help="CloudFormation stack of the other tool. [default: read from the functions]",
        ),
    ]
    dry_run: Annotated[
        bool, click.option("--dry-run", is_flag=True, help="Only show what would change.")
    ]
    release: Annotated[bool, click.option("--release", is_flag=True, help="Undo the adoption.")]
    place: PlaceFlags
    lock_timeout: LockTimeout
    yes: Annotated[bool, click.option("--yes", is_flag=True, help="Skip the prompt.")]
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric adopt --dry-run                     show what fabric would take over
fabric adopt --stage prod --stack shop-prod
fabric adopt --release --stage prod        undo it before the first deploy
"""),
)
@pass_flags(AdoptFlags)
def adopt(flags: AdoptFlags) -> int:
    """Take over functions that another tool deployed.

    For services on AWS Lambda (`cloud1-lambda`) in real mode, deployed by the Serverless
    Framework, AWS SAM or CloudFormation. The functions of the config get tags, a version and the
    alias `live`, and the state records them. Their code, settings and addresses do not change.
    The stack of the other tool must retain them first.
    """
    from fabric.app.deploy.adopt import AdoptOptions, adopt_service, release_service
    from fabric.cli.consent import build_confirmation, build_word_prompt
    from fabric.cli.perform import Caller, Order, Outlets, build_question_request, perform
    from fabric.model.time.time_spans import parse_seconds

    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)
    use_case = release_service if flags.release else adopt_service

    def build_options(caller: Caller) -> AdoptOptions:
        return AdoptOptions(
            stack=flags.stack,
            dry_run=flags.dry_run,
            lock_timeout=timeout,
            agrees=build_confirmation(caller.screen, caller.settings, yes=flags.yes),
            ask=build_word_prompt(caller.screen, caller.settings),
        )

    order = Order(build_question_request("adopt", flags.place.where), flags.screen, Outlets())
    return perform(order, lambda one, caller: use_case(one, caller.settings, build_options(caller)))
