"""`fabric verify`: compare the deployed code with a build of its commit."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import PlaceFlags, ScreenFlags, format_examples


class VerifyFlags(Struct, frozen=True):
    place: PlaceFlags
    commit: Annotated[
        str,
        click.option(
            "--commit",
            default="",
            metavar="REF",
            help="Commit to build. [default: the commit of each deployment]",
        ),
    ]
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric verify --stage prod             compare prod with the commits that it was deployed from
fabric verify --commit v1.4.0 --json
"""),
)
@pass_flags(VerifyFlags)
def verify(flags: VerifyFlags) -> int:
    """Compare the deployed code with a build of its commit.

    Checks the commit out into a temporary directory, builds it without a cache, and compares the
    archives with the hashes that the provider reports. Exit code 0: all match. 1: a function
    differs. 2: a function is unknown, or nothing is deployed.
    """
    from fabric.app.deploy.verify import verify as verify_code
    from fabric.cli.perform import Order, Outlets, build_question_request, perform

    request = build_question_request("verify", flags.place.where)
    return perform(
        Order(request, flags.screen, Outlets(logs="none", journal=False)),
        lambda one, caller: verify_code(one, caller.settings, flags.commit, caller.make_listeners),
    )
