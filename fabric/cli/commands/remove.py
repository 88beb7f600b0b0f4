"""`fabric remove`: what a stage has at its providers goes."""

from typing import Any

import click

from fabric.cli.commands.build import request_of
from fabric.cli.options import (
    common_options,
    examples,
    lock_timeout_option,
    place_options,
    removal_options,
    source_options,
)


@click.command(
    epilog=examples("""
fabric remove                    remove the service from stage dev
fabric remove --stage prod --yes remove it from prod without being asked
""")
)
@place_options
@source_options
@lock_timeout_option
@removal_options
@common_options
def remove(**options: Any) -> int:
    """Remove a deployment.

    Deletes the functions at their provider, then the record, the state and the receipt of the
    stage; other stages stay. What is not there is no error.
    """
    return run_remove("remove", **options)


def run_remove(command: str, **options: Any) -> int:
    from fabric.app.deploy.remove import RemoveOptions
    from fabric.app.deploy.remove import remove as remove_services
    from fabric.app.selection import run_chosen
    from fabric.app.settings import read_settings
    from fabric.cli.consent import asker
    from fabric.cli.progress.listeners import ListenerOptions, listeners
    from fabric.cli.progress.log_lines import Logs
    from fabric.cli.screen import Screen
    from fabric.model.time_spans import seconds_of

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    timeout = seconds_of("--lock-timeout", options["lock_timeout"])
    consent = RemoveOptions(timeout, asker(screen, settings, yes=options["yes"]))
    request = request_of("deploy", command, **options)
    heard = listeners(
        screen, settings, ListenerOptions(options["events"], logs=Logs(options["logs"]))
    )
    if not options.get("source"):
        report = run_chosen(
            request, settings, lambda one: remove_services(one, settings, consent, heard)
        )
        return screen.finish(report)
    from fabric.app.remote_source import RemoteSource, sourced

    source = RemoteSource(options["source"], options["source_sha256"])
    with sourced(source, request, settings) as found:
        report = remove_services(found.request, found.settings, consent, heard)
    return screen.finish(report)
