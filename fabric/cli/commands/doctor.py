"""`fabric doctor`: what is missing here, and what to do about it."""

from typing import Any

import click

from fabric.cli.commands.build import request_of
from fabric.cli.options import common_options, examples, place_options


@click.command(
    epilog=examples("""
fabric doctor                       is everything here for stage dev?
fabric doctor --stage prod --provider edge1-workers --json
""")
)
@place_options
@click.option("--events", default="", metavar="FILE", help="Write the run's events as NDJSON.")
@common_options
def doctor(**options: Any) -> int:
    """Check the config, credentials, tools, the state back end and the cache.

    Missing credentials are a warning while deploys are simulated, and exit code 77 in real mode.
    A back end that cannot be reached is exit code 69. Nothing is changed; in a back end that is
    elsewhere one entry is written and taken away again.
    """
    from fabric.app.doctor.doctor import doctor as check_up
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen
    from fabric.engine.listeners.journal import EventFile

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    request = request_of("deploy", "doctor", **options)
    events = options["events"]
    heard = [EventFile(settings.cwd / events)] if events else []
    return screen.finish(check_up(request, settings, lambda *_: heard))
