"""`fabric runs`: the journals of past runs."""

from typing import Any

import click

from fabric.cli.group import Group
from fabric.cli.options import common_options, examples


@click.group(cls=Group, epilog=examples("fabric runs list\nfabric runs show latest"))
def runs() -> None:
    """List and show past runs (the newest twenty are kept)."""


@runs.command(name="list", epilog=examples("fabric runs list\nfabric runs list --json"))
@common_options
def list_(**options: Any) -> int:
    """List past runs, newest first."""
    from fabric.app.runs import list_runs
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    return screen.finish(list_runs(settings, screen.out))


@runs.command(
    epilog=examples("fabric runs show latest\nfabric runs show 20260102T030405-000006 --json")
)
@click.argument("run_id", metavar="RUN", default="latest")
@common_options
def show(run_id: str, **options: Any) -> int:
    """Show what one run did. RUN is an id, or `latest`."""
    from fabric.app.runs import show_run
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    return screen.finish(show_run(run_id, settings, screen.out))
