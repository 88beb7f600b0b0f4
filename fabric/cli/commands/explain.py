"""`fabric explain TASK`: the inputs that are not what they were."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.complete import names_of
from fabric.cli.flags_of import flags_of
from fabric.cli.options import PlaceFlags, ScreenFlags, examples

if TYPE_CHECKING:
    from fabric.app.request import Where


class ExplainFlags(Struct, frozen=True):
    task: Annotated[str, click.argument("task", shell_complete=names_of("task"))]
    place: PlaceFlags
    compose: Annotated[
        str,
        click.option(
            "-f",
            "--file",
            "compose",
            default="",
            metavar="FILE",
            help="Look at all services of this compose file, or of that in this folder.",
        ),
    ]
    screen: ScreenFlags

    @property
    def where(self) -> "Where":
        return replace(self.place.where, compose=self.compose)


@click.command(
    epilog=examples("""
fabric explain build:api/hello            which input changed, with both digests
fabric explain package:api/hello --json   the same for a script
""")
)
@flags_of(ExplainFlags)
def explain(flags: ExplainFlags) -> int:
    """Tell why one task would run.

    TASK is a task's id as `fabric plan` shows it. Every input that differs from the last run is
    named with its old and new digest.
    """
    from fabric.app.plan import explain as explain_task
    from fabric.cli.perform import Order, perform, question

    order = Order(question("explain", flags.where), flags.screen)
    return perform(order, lambda one, caller: explain_task(one, flags.task, caller.settings))
