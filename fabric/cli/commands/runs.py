"""`fabric runs`: the journals of past runs."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.complete import names_of
from fabric.cli.flags_of import flags_of
from fabric.cli.group import Group
from fabric.cli.options import ScreenFlags, examples


class ShowFlags(Struct, frozen=True):
    run_id: Annotated[
        str,
        click.argument("run_id", metavar="RUN", default="latest", shell_complete=names_of("run")),
    ]
    screen: ScreenFlags


@click.group(cls=Group, epilog=examples("fabric runs list\nfabric runs show latest"))
def runs() -> None:
    """List and show past runs. The newest 20 runs are kept."""


@runs.command(name="list", epilog=examples("fabric runs list\nfabric runs list --json"))
@flags_of(ScreenFlags)
def list_(screen: ScreenFlags) -> int:
    """List past runs, newest first."""
    from fabric.app.runs import list_runs
    from fabric.cli.answer import answer

    return answer(screen, list_runs)


@runs.command(
    epilog=examples(
        "fabric runs show latest\nfabric runs show 20260102T030405-000006-5e1f09ac --json"
    )
)
@flags_of(ShowFlags)
def show(flags: ShowFlags) -> int:
    """Show the tasks and results of one run.

    RUN is an ID or `latest`.
    """
    from fabric.app.runs import show_run
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: show_run(flags.run_id, settings))
