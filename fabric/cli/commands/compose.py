"""`fabric compose …`: the same verbs over all services of a compose file, as one graph."""

import click
from msgspec import Struct

from fabric.cli import commands_table as table
from fabric.cli.commands.build import ComposeBuildFlags, run_verb
from fabric.cli.commands.deploy import ComposeDeployFlags, run_deploy
from fabric.cli.commands.plan import ComposePlanFlags, show_plan
from fabric.cli.commands.remove import ComposeRemoveFlags, run_remove
from fabric.cli.flags_of import pass_flags
from fabric.cli.main import LazyGroup
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import ComposeFile, ComposeFlags, ScreenFlags, Stage, format_examples

compose = LazyGroup(
    name="compose",
    help="Run commands on all services of a compose file.",
    epilog="Examples:\n  fabric compose plan\n  fabric compose build --service api --concurrency 8",
    no_args_is_help=True,
).listing(table.COMPOSE)


class OutputsFlags(Struct, frozen=True):
    chosen: ComposeFlags
    screen: ScreenFlags


class ListFlags(Struct, frozen=True):
    compose: ComposeFile
    stage: Stage
    screen: ScreenFlags


class PastFlags(Struct, frozen=True):
    compose: ComposeFile
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric compose plan                            all services in dependency order
fabric compose plan --graph svg --out all.svg  write the task graph as SVG
"""),
)
@pass_flags(ComposePlanFlags)
def plan(flags: ComposePlanFlags) -> int:
    """Show which tasks of all services would run and why.

    No task runs and nothing deployed is changed.
    """
    return show_plan("compose plan", flags)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric compose build                   build what changed in all services
fabric compose build --affected        build what changed since the branch left main
"""),
)
@pass_flags(ComposeBuildFlags)
def build(flags: ComposeBuildFlags) -> int:
    """Build the functions of all services in parallel."""
    return run_verb("build", "compose build", flags)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric compose package                    package all services
fabric compose package --concurrency 50%  use half of the CPU cores
"""),
)
@pass_flags(ComposeBuildFlags)
def package(flags: ComposeBuildFlags) -> int:
    """Package the functions of all services in parallel."""
    return run_verb("package", "compose package", flags)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric compose deploy --concurrency 16   deploy what changed in dependency order
fabric compose deploy --service api --with-dependents --rollback-on-failure
"""),
)
@pass_flags(ComposeDeployFlags)
def deploy(flags: ComposeDeployFlags) -> int:
    """Deploy all services in dependency order.

    Services are built in parallel. A deploy starts when the releases that it depends on are
    done. Dependents of a changed service are deployed again only if its outputs changed.
    """
    return run_deploy("compose deploy", flags)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric compose remove                    delete all services of stage dev
fabric compose remove --stage pr-7 --yes
"""),
)
@pass_flags(ComposeRemoveFlags)
def remove(flags: ComposeRemoveFlags) -> int:
    """Delete all services, dependents first."""
    return run_remove("compose remove", flags)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric compose outputs
fabric compose outputs --service api --json
"""),
)
@pass_flags(OutputsFlags)
def outputs(flags: OutputsFlags) -> int:
    """Show the endpoints and outputs of all deployed services."""
    from fabric.app.compose import report_outputs as outputs_of
    from fabric.cli.perform import Order, build_question_request, perform

    order = Order(build_question_request("compose outputs", flags.chosen.where), flags.screen)
    return perform(order, lambda one, caller: outputs_of(one, caller.settings))


@click.command(
    cls=GroupedCommand,
    name="list",
    epilog=format_examples("""
fabric compose list
fabric compose list --json
"""),
)
@pass_flags(ListFlags)
def list_services(flags: ListFlags) -> int:
    """List services, their configs and their dependencies.

    With --stage, the configs are resolved for that stage.
    """
    from fabric.app.compose import list_services as services
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: services(flags.compose, flags.stage, settings))


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric compose runs
fabric compose runs --json
"""),
)
@pass_flags(PastFlags)
def runs(flags: PastFlags) -> int:
    """List past runs of all services, newest first.

    The newest 20 runs are kept.
    """
    from fabric.app.running.runs import report_compose_runs
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: report_compose_runs(flags.compose, settings))
