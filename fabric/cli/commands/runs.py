"""`fabric runs`: the journals of past runs."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.complete import complete_names
from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import Group
from fabric.cli.options import ScreenFlags, format_examples


class ShowFlags(Struct, frozen=True):
    run_id: Annotated[
        str,
        click.argument(
            "run_id", metavar="RUN", default="latest", shell_complete=complete_names("run")
        ),
    ]
    screen: ScreenFlags


@click.group(cls=Group, epilog=format_examples("fabric runs list\nfabric runs show latest"))
def runs() -> None:
    """List and show past runs. The newest 20 runs are kept."""


@runs.command(name="list", epilog=format_examples("fabric runs list\nfabric runs list --json"))
@pass_flags(ScreenFlags)
def list_(screen: ScreenFlags) -> int:
    """List past runs, newest first."""
    from fabric.app.running.runs import list_runs
    from fabric.cli.answer import answer

    return answer(screen, list_runs)


@runs.command(
    epilog=format_examples(
        "fabric runs show latest\nfabric runs show 20260102T030405-000006-5e1f09ac --json"
    )
)
@pass_flags(ShowFlags)
def show(flags: ShowFlags) -> int:
    """Show the tasks and results of one run.

    RUN is an ID or `latest`.
    """
    from fabric.app.running.runs import show_run
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: show_run(flags.run_id, settings))
