"""`fabric rollback` and `fabric releases`: back to what was live before."""

from typing import Any

import click

from fabric.cli.commands.build import request_of
from fabric.cli.options import common_options, examples, lock_timeout_option, place_options


@click.command(
    epilog=examples("""
fabric rollback                          back to the deployment before this one
fabric rollback --to cloud1-lambda-prod-1767225600-1a2b3c --stage prod
""")
)
@click.option("--to", default="", metavar="ID", help="The deployment to go back to.")
@click.option(
    "--with-current-environment",
    is_flag=True,
    help="Take today's values where variables had other values then.",
)
@place_options
@lock_timeout_option
@click.option("--events", default="", metavar="FILE", help="Write the run's events as NDJSON.")
@common_options
def rollback(**options: Any) -> int:
    """Go back to an earlier deployment.

    From kept archives and settings: the source is not needed. Values of variables are never kept,
    so those of today have to be those of then.
    """
    from fabric.app.deploy.rollback import RollbackOptions
    from fabric.app.deploy.rollback import rollback as go_back
    from fabric.app.settings import read_settings
    from fabric.cli.progress.listeners import ListenerOptions, listeners
    from fabric.cli.screen import Screen
    from fabric.model.time_spans import seconds_of

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    timeout = seconds_of("--lock-timeout", options["lock_timeout"])
    back = RollbackOptions(options["to"], options["with_current_environment"], timeout)
    request = request_of("deploy", "rollback", **options)
    heard = listeners(screen, settings, ListenerOptions(options["events"]))
    return screen.finish(go_back(request, settings, back, heard))


@click.command(
    epilog=examples("""
fabric releases                what is live in stage dev, and what was before
fabric releases --stage prod --json
""")
)
@place_options
@common_options
def releases(**options: Any) -> int:
    """List what was deployed, newest first; * marks what is live."""
    from fabric.app.deploy.rollback import releases as list_releases
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    return screen.finish(list_releases(request_of("deploy", "releases", **options), settings))
