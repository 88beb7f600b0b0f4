"""`fabric compose …`: the same verbs over all services of a compose file, as one graph."""

from typing import Any

import click

from fabric.cli import commands_table as table
from fabric.cli.commands.build import request_of, run_verb
from fabric.cli.commands.deploy import run_deploy
from fabric.cli.commands.plan import plan_options, show_plan
from fabric.cli.commands.remove import run_remove
from fabric.cli.main import LazyGroup
from fabric.cli.options import (
    common_options,
    compose_file,
    deploy_options,
    examples,
    lock_timeout_option,
    provider_option,
    removal_options,
    run_options,
    selection_options,
    stage_option,
)

compose = LazyGroup(
    table.COMPOSE,
    name="compose",
    help="Work on all services of a compose file at once.",
    epilog="Examples:\n  fabric compose plan\n  fabric compose build --service api --concurrency 8",
    no_args_is_help=True,
)


@click.command(
    epilog=examples("""
fabric compose plan                            every service, in dependency order
fabric compose plan --graph svg --out all.svg  the whole graph as a picture
""")
)
@compose_file
@selection_options
@stage_option
@plan_options
@common_options
def plan(**options: Any) -> int:
    """Plan all services as one graph. Changes nothing."""
    return show_plan("compose plan", **options)


@click.command(
    epilog=examples("""
fabric compose build                   build what changed in all services
fabric compose build --affected        only what changed since the branch left main
""")
)
@compose_file
@selection_options
@stage_option
@run_options
@common_options
def build(**options: Any) -> int:
    """Build the functions of all services at once."""
    return run_verb("build", "compose build", **options)


@click.command(
    epilog=examples("""
fabric compose package                   archives of all services
fabric compose package --concurrency 50% at half of the machine's width
""")
)
@compose_file
@selection_options
@stage_option
@run_options
@common_options
def package(**options: Any) -> int:
    """Package the functions of all services at once."""
    return run_verb("package", "compose package", **options)


@click.command(
    epilog=examples("""
fabric compose deploy --concurrency 16           what changed, upstreams first
fabric compose deploy --service api --with-dependents --rollback-on-failure
""")
)
@compose_file
@selection_options
@stage_option
@deploy_options
@lock_timeout_option
@run_options
@common_options
def deploy(**options: Any) -> int:
    """Deploy all services, upstreams first.

    Builds of all services run at once; a deploy starts as soon as the releases that it depends on
    are there. Services whose upstreams give the same as before are not deployed again.
    """
    return run_deploy("compose deploy", **options)


@click.command(
    epilog=examples("""
fabric compose remove                    remove all services, dependents first
fabric compose remove --stage pr-7 --yes
""")
)
@compose_file
@selection_options
@stage_option
@provider_option
@lock_timeout_option
@removal_options
@common_options
def remove(**options: Any) -> int:
    """Remove all services, dependents first."""
    return run_remove("compose remove", **options)


@click.command(
    epilog=examples("""
fabric compose outputs
fabric compose outputs --service api --json
""")
)
@compose_file
@selection_options
@stage_option
@common_options
def outputs(**options: Any) -> int:
    """Print the endpoints and outputs of every service that is deployed."""
    from fabric.app.compose import outputs as outputs_of
    from fabric.app.selection import run_chosen
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    request = request_of("deploy", "compose outputs", **options)
    return screen.finish(run_chosen(request, settings, lambda one: outputs_of(one, settings)))


@click.command(
    name="list",
    epilog=examples("""
fabric compose list
fabric compose list --json
"""),
)
@compose_file
@stage_option
@common_options
def list_services(**options: Any) -> int:
    """List the services, their configs and what they depend on."""
    from fabric.app.compose import list_services as services
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    return screen.finish(services(options["compose"], settings, screen.out))


@click.command(
    epilog=examples("""
fabric compose runs
fabric compose runs --json
""")
)
@compose_file
@common_options
def runs(**options: Any) -> int:
    """List past runs over all services, newest first (the newest twenty runs are kept)."""
    from fabric.app.runs import compose_runs
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    return screen.finish(compose_runs(options["compose"], settings, screen.out))
