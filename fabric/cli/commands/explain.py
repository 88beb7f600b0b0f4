"""`fabric explain TASK`: the inputs that are not what they were."""

from typing import Any

import click

from fabric.cli.commands.build import request_of
from fabric.cli.options import common_options, compose_file, examples, place_options


@click.command(
    epilog=examples("""
fabric explain build:api/hello            which input changed, with both digests
fabric explain package:api/hello --json   the same for a script
""")
)
@click.argument("task")
@place_options
@compose_file
@common_options
def explain(task: str, **options: Any) -> int:
    """Tell why one task would run.

    TASK is a task's id as `fabric plan` shows it. Every input that differs from the last run is
    named with its old and new digest.
    """
    from fabric.app.plan import explain as explain_task
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    source = click.get_current_context().get_parameter_source("compose")
    if source is click.core.ParameterSource.DEFAULT:
        options["compose"] = ""
    request = request_of("deploy", "explain", **options)
    return screen.finish(explain_task(request, task, settings, screen.out))
