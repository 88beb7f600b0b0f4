"""`fabric explain TASK`: show the changed inputs of a task."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.complete import complete_names
from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import PlaceFlags, ScreenFlags, build_compose_option, format_examples

if TYPE_CHECKING:
    from fabric.app.request import Where


class ExplainFlags(Struct, frozen=True):
    task: Annotated[str, click.argument("task", shell_complete=complete_names("task"))]
    place: PlaceFlags
    compose: Annotated[
        str,
        build_compose_option(
            "Search all services of this compose file, or of the one in this directory."
        ),
    ]
    screen: ScreenFlags

    @property
    def where(self) -> "Where":
        return replace(self.place.where, compose=self.compose)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric explain build:api/hello            show which inputs changed
fabric explain package:api/hello --json   the same as JSON
"""),
)
@pass_flags(ExplainFlags)
def explain(flags: ExplainFlags) -> int:
    """Explain why a task would run.

    TASK is a task ID as printed by `fabric plan`. Every input that changed since the last run
    is listed with its old and new hash.
    """
    from fabric.app.plan import explain as explain_task
    from fabric.cli.perform import Order, build_question_request, perform

    order = Order(build_question_request("explain", flags.where), flags.screen)
    return perform(order, lambda one, caller: explain_task(one, flags.task, caller.settings))
