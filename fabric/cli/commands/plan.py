"""`fabric plan`: what a run would do, in words, as JSON or as a picture."""

from typing import TYPE_CHECKING, Any

import click

from fabric.cli.commands.build import is_plain, request_of
from fabric.cli.options import common_options, examples, function_option, place_options

if TYPE_CHECKING:
    from fabric.model.report import Report

FORMS = ("tree", "dot", "mermaid", "json", "svg", "html")


def plan_options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--for",
        "verb",
        type=click.Choice(["build", "package", "deploy"]),
        default="deploy",
        show_default=True,
        help="Plan what this command would run.",
    ),  # fmt: skip
    click.option("--graph", type=click.Choice(FORMS), default=None, help="Draw the task graph."),
    click.option("--out", default="", metavar="FILE", help="Save the plan (or picture) as FILE."),
    click.option(
        "--detailed-exitcode", is_flag=True, help="Exit 2 if there is anything to do, else 0."
    ),
)


@click.command(
    epilog=examples("""
fabric plan                             what would run, and why
fabric plan --graph html --out plan.html   the task graph as a page
""")
)
@place_options
@function_option
@plan_options
@common_options
def plan(**options: Any) -> int:
    """Show what would run and why.

    Changes nothing: no task runs, and only the cache may be read. The decisions are those that
    the run itself would make.
    """
    return show_plan("plan", **options)


def show_plan(command: str, **options: Any) -> int:
    from fabric.app.plan import PlanOptions
    from fabric.app.plan import plan as make_plan
    from fabric.app.selection import run_chosen
    from fabric.app.settings import read_settings
    from fabric.cli.report_files import kept, wants_details
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    detailed = wants_details(settings)
    request = request_of(options.pop("verb"), command, detailed=detailed, **options)
    shown = PlanOptions(options["graph"] or "", options["out"], options["detailed_exitcode"])
    command_line = screen.command_line() if is_plain(options) else None

    def make() -> "Report":
        return run_chosen(
            request, settings, lambda one: make_plan(one, shown, settings, screen.out, command_line)
        )

    return screen.finish(kept(command, settings, make))
