"""`fabric config show`: the config as a run takes it."""

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.group import Group
from fabric.cli.options import PlaceFlags, ScreenFlags, examples


class ConfigFlags(Struct, frozen=True):
    place: PlaceFlags
    screen: ScreenFlags


@click.group(
    cls=Group, epilog=examples("fabric config show\nfabric config show --stage prod --json")
)
def config() -> None:
    """Look at a config as a run takes it."""


@config.command(epilog=examples("fabric config show\nfabric config show --stage prod --json"))
@flags_of(ConfigFlags)
def show(flags: ConfigFlags) -> int:
    """Show the config with the stage laid in and all bindings filled.

    Secrets are hidden. What an upstream gives is named, for it is known after a deploy only.
    """
    from fabric.app.validate import show_config
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: show_config(flags.place.where, settings))
