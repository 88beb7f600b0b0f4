"""`fabric config-api`: configs checked and resolved over HTTP, and nothing deployed."""

import click

from fabric.cli.daemon.flags import ConfigApiFlags
from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import format_examples


@click.command(
    cls=GroupedCommand,
    name="config-api",
    epilog=format_examples("""
fabric config-api --address 127.0.0.1
fabric config-api --port 9000 --api-key-file keys.txt --rate-limit 120
"""),
)
@pass_flags(ConfigApiFlags)
def config_api(flags: ConfigApiFlags) -> int:
    """Serve config validation and resolution over HTTP.

    Serves POST /validate and POST /resolve until Ctrl-C. The request body is a config. The
    response contains its validation errors, or the config resolved for a stage. To build and
    deploy over HTTP, use fabricd.
    """
    from fabric.cli.daemon.orders import refuse_uninstalled

    refuse_uninstalled()
    from fabric.cli.daemon.acts import serve_config_api

    return serve_config_api(flags)
