"""`fabric validate`: everything that is wrong with a config, before anything is tried."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.flags_of import flags_of
from fabric.cli.options import PlaceFlags, ScreenFlags, examples

if TYPE_CHECKING:
    from fabric.app.request import Where


class ValidateFlags(Struct, frozen=True):
    place: PlaceFlags
    compose: Annotated[
        str,
        click.option(
            "-f",
            "--file",
            "compose",
            default="",
            metavar="FILE",
            help="All services of this compose file, or of that in this folder.",
        ),
    ]
    screen: ScreenFlags

    @property
    def where(self) -> "Where":
        return replace(self.place.where, compose=self.compose)


@click.command(
    epilog=examples("""
fabric validate --stage prod              one service, as it would be deployed there
fabric validate -f fabric.compose.yml     all services of a monorepo
""")
)
@flags_of(ValidateFlags)
def validate(flags: ValidateFlags) -> int:
    """Check a config and tell all that is wrong, with places.

    Reads the config and the files that belong to it, and nothing else: no network, no state, no
    code of yours. What only a plan would refuse, such as a limit of the provider, is told as well.
    """
    from fabric.app.validate import validate as validate_config
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: validate_config(flags.where, settings))
