"""`fabric compose …`: the same verbs over all services of a compose file, as one graph."""

from typing import Any

import click

from fabric.cli import commands_table as table
from fabric.cli.commands.build import run_verb
from fabric.cli.commands.plan import plan_options, show_plan
from fabric.cli.main import LazyGroup
from fabric.cli.options import (
    common_options,
    compose_file,
    examples,
    run_options,
    service_option,
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
@service_option
@stage_option
@plan_options
@common_options
def plan(**options: Any) -> int:
    """Plan all services as one graph. Changes nothing."""
    return show_plan("compose plan", **options)


@click.command(
    epilog=examples("""
fabric compose build                   build what changed in all services
fabric compose build --service api     only this service
""")
)
@compose_file
@service_option
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
@service_option
@stage_option
@run_options
@common_options
def package(**options: Any) -> int:
    """Package the functions of all services at once."""
    return run_verb("package", "compose package", **options)


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
