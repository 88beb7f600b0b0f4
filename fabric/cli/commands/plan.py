"""`fabric plan`: show what a run would do, as text, JSON or a diagram."""

from typing import Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import (
    ComposeFlags,
    FunctionFlags,
    ScreenFlags,
    SourceFlags,
    format_examples,
)
from fabric.cli.run_options import Caches, build_concurrency_option

FORMS = ("tree", "dot", "mermaid", "json", "svg", "html")


class LookFlags(Struct, frozen=True):
    """The planned services, and how the plan is shown and stored."""

    verb: Annotated[
        str,
        click.option(
            "--for",
            "verb",
            type=click.Choice(["build", "package", "deploy"]),
            default="deploy",
            show_default=True,
            help="Command to plan.",
        ),
    ]
    graph: Annotated[
        str | None,
        click.option(
            "--graph",
            type=click.Choice(FORMS),
            default=None,
            help="Print the task graph in this format.",
        ),
    ]
    out: Annotated[
        str,
        click.option(
            "--out", default="", metavar="FILE", help="Write the plan or the graph to FILE."
        ),
    ]
    detailed_exitcode: Annotated[
        bool,
        click.option(
            "--detailed-exitcode",
            is_flag=True,
            help="Exit with 2 if there are changes, otherwise 0. Implies --strict.",
        ),
    ]
    strict: Annotated[
        bool,
        click.option(
            "--strict", is_flag=True, help="Fail if deploying this plan would be refused."
        ),
    ]
    cache: Caches


class PlanFlags(Struct, frozen=True):
    chosen: FunctionFlags
    look: LookFlags
    source: SourceFlags
    screen: ScreenFlags


class ComposePlanFlags(Struct, frozen=True):
    chosen: ComposeFlags
    look: LookFlags
    concurrency: Annotated[str, build_concurrency_option("Records read")]
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric plan                                show which tasks would run
fabric plan --graph html --out plan.html   write the task graph as a page
"""),
)
@pass_flags(PlanFlags)
def plan(flags: PlanFlags) -> int:
    """Show which tasks would run and why.

    No task runs and nothing deployed is changed. The plan uses the same rules as the run
    itself. File hashes are stored in the cache so that the next plan is faster.
    """
    return show_plan("plan", flags, flags.source)


def show_plan(
    command: str, flags: PlanFlags | ComposePlanFlags, source: SourceFlags | None = None
) -> int:
    from fabric.app.plan import PlanOptions
    from fabric.app.plan import plan as make_plan
    from fabric.app.request import CacheOptions, Execution, Request
    from fabric.cli.perform import Order, perform
    from fabric.model.names import Verb

    look, chosen = flags.look, flags.chosen
    shown = PlanOptions(look.graph or "", look.out, look.detailed_exitcode, look.strict)
    request = Request(
        Verb(look.verb), command, chosen.where, frozenset(chosen.functions), out=look.out
    )
    request = replace(request, caching=CacheOptions(modes=look.cache))
    if isinstance(flags, ComposePlanFlags):
        request = replace(request, execution=Execution(concurrency=flags.concurrency))
    is_here = source is None or not source.source
    order = Order(request, flags.screen, source=source, may_be_kept=chosen.is_plain and is_here)
    return perform(
        order,
        lambda one, caller: make_plan(one, shown, caller.settings, caller.command_line),
    )
