"""`fabric compose …`: the same verbs over all services of a compose file, as one graph."""

import click
from msgspec import Struct

from fabric.cli import commands_table as table
from fabric.cli.commands.build import ComposeBuildFlags, run_verb
from fabric.cli.commands.deploy import ComposeDeployFlags, run_deploy
from fabric.cli.commands.plan import ComposePlanFlags, show_plan
from fabric.cli.commands.remove import ComposeRemoveFlags, run_remove
from fabric.cli.flags_of import flags_of
from fabric.cli.main import LazyGroup
from fabric.cli.options import ComposeFile, ComposeFlags, ScreenFlags, Stage, examples

compose = LazyGroup(
    name="compose",
    help="Work on all services of a compose file at once.",
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
    epilog=examples("""
fabric compose plan                            every service, in dependency order
fabric compose plan --graph svg --out all.svg  the whole graph as a picture
""")
)
@flags_of(ComposePlanFlags)
def plan(flags: ComposePlanFlags) -> int:
    """Plan all services as one graph. Changes nothing."""
    return show_plan("compose plan", flags)


@click.command(
    epilog=examples("""
fabric compose build                   build what changed in all services
fabric compose build --affected        only what changed since the branch left main
""")
)
@flags_of(ComposeBuildFlags)
def build(flags: ComposeBuildFlags) -> int:
    """Build the functions of all services at once."""
    return run_verb("build", "compose build", flags)


@click.command(
    epilog=examples("""
fabric compose package                   archives of all services
fabric compose package --concurrency 50% at half of the machine's width
""")
)
@flags_of(ComposeBuildFlags)
def package(flags: ComposeBuildFlags) -> int:
    """Package the functions of all services at once."""
    return run_verb("package", "compose package", flags)


@click.command(
    epilog=examples("""
fabric compose deploy --concurrency 16           what changed, upstreams first
fabric compose deploy --service api --with-dependents --rollback-on-failure
""")
)
@flags_of(ComposeDeployFlags)
def deploy(flags: ComposeDeployFlags) -> int:
    """Deploy all services, upstreams first.

    Builds of all services run at once; a deploy starts as soon as the releases that it depends on
    are there. Services whose upstreams give the same as before are not deployed again.
    """
    return run_deploy("compose deploy", flags)


@click.command(
    epilog=examples("""
fabric compose remove                    remove all services, dependents first
fabric compose remove --stage pr-7 --yes
""")
)
@flags_of(ComposeRemoveFlags)
def remove(flags: ComposeRemoveFlags) -> int:
    """Remove all services, dependents first."""
    return run_remove("compose remove", flags)


@click.command(
    epilog=examples("""
fabric compose outputs
fabric compose outputs --service api --json
""")
)
@flags_of(OutputsFlags)
def outputs(flags: OutputsFlags) -> int:
    """Print the endpoints and outputs of every service that is deployed."""
    from fabric.app.compose import outputs as outputs_of
    from fabric.cli.perform import Order, perform, question

    order = Order(question("compose outputs", flags.chosen.where), flags.screen)
    return perform(order, lambda one, caller: outputs_of(one, caller.settings))


@click.command(
    name="list",
    epilog=examples("""
fabric compose list
fabric compose list --json
"""),
)
@flags_of(ListFlags)
def list_services(flags: ListFlags) -> int:
    """List the services, their configs and what they depend on.

    With --stage their configs are read as that stage has them.
    """
    from fabric.app.compose import list_services as services
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: services(flags.compose, flags.stage, settings))


@click.command(
    epilog=examples("""
fabric compose runs
fabric compose runs --json
""")
)
@flags_of(PastFlags)
def runs(flags: PastFlags) -> int:
    """List past runs over all services, newest first (the newest twenty runs are kept)."""
    from fabric.app.runs import compose_runs
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: compose_runs(flags.compose, settings))
