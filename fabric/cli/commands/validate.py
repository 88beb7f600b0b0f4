"""`fabric validate`: everything that is wrong with a config, before anything is tried."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import (
    PlaceFlags,
    ScreenFlags,
    build_compose_option,
    format_examples,
)

if TYPE_CHECKING:
    from fabric.app.request import Where


class ValidateFlags(Struct, frozen=True):
    place: PlaceFlags
    compose: Annotated[
        str,
        build_compose_option(
            "Validate all services of this compose file, or of the one in this directory."
        ),
    ]
    screen: ScreenFlags

    @property
    def where(self) -> "Where":
        return replace(self.place.where, compose=self.compose)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric validate --stage prod              check one service for stage prod
fabric validate -f fabric.compose.yml     check all services of a monorepo
"""),
)
@pass_flags(ValidateFlags)
def validate(flags: ValidateFlags) -> int:
    """Check a config for errors, offline.

    Reads the config and the files that it refers to. It uses no network and no state, and runs
    none of your code. Provider limits are checked as well.
    """
    from fabric.app.validate import validate as validate_config
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: validate_config(flags.where, settings))
