"""`fabric config show`: the config as a run takes it."""

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import Group
from fabric.cli.options import PlaceFlags, ScreenFlags, format_examples


class ConfigFlags(Struct, frozen=True):
    place: PlaceFlags
    screen: ScreenFlags


@click.group(
    cls=Group, epilog=format_examples("fabric config show\nfabric config show --stage prod --json")
)
def config() -> None:
    """Show the resolved config."""


@config.command(
    epilog=format_examples("fabric config show\nfabric config show --stage prod --json")
)
@pass_flags(ConfigFlags)
def show(flags: ConfigFlags) -> int:
    """Show the config with its stage and bindings resolved.

    Secrets are redacted. Outputs of other services are shown by name, because their values are
    known after a deploy.
    """
    from fabric.app.validate import show_config
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: show_config(flags.place.where, settings))
