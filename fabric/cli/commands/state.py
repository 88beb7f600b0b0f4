"""`fabric state …`: what is recorded of deployments, looked at. Changes come in their own file."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from fabric.cli import commands_table as table
from fabric.cli.main import LazyGroup
from fabric.cli.options import common_options, examples, place_options

F = TypeVar("F", bound=Callable[..., Any])

state = LazyGroup(
    table.STATE,
    name="state",
    help="Look at what is recorded of deployments, move it, and put it right.",
    epilog="Examples:\n  fabric state list\n  fabric state backup --out before-the-move.json",
    no_args_is_help=True,
)
backend_option = click.option(
    "--backend", default="", metavar="KIND",
    help="Another back end than the config's: local, sql, objstore1, objstore2, objstore3.",
)  # fmt: skip
SERVICE = click.option(
    "--service", default="", metavar="NAME", help="Another service of the same back end."
)


def scope_options(command: F) -> F:
    """Which records, in which store."""
    for option in (common_options, backend_option, SERVICE, place_options):
        command = option(command)
    return command


def asked_of(command: str, **options: Any) -> Any:
    from fabric.app.request import Where
    from fabric.app.state.scope import StateRequest
    from fabric.model.time_spans import seconds_of

    where = Where(options["config"], "", options["stage"], options["provider"])
    timeout = seconds_of("--lock-timeout", options.get("lock_timeout", "0"))
    kind = options.get("backend", "")
    return StateRequest(f"state {command}", where, options["service"], kind, timeout)


def finished(use_case: Any, command: str, **options: Any) -> int:
    """`use_case` takes what was asked, the settings, and who is asked for consent."""
    from fabric.app.settings import read_settings
    from fabric.cli.consent import asker
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    agrees = asker(screen, settings, yes=options.get("yes", False))
    return screen.finish(use_case(asked_of(command, **options), settings, agrees))


@click.command(
    name="list",
    epilog=examples("""
fabric state list                all stages of the service
fabric state list --stage prod --json
"""),
)
@scope_options
def list_(**options: Any) -> int:
    """List the records of the service: one for each stage and provider."""
    from fabric.app.state.look import list_records

    return finished(lambda asked, settings, _: list_records(asked, settings), "list", **options)


@click.command(
    epilog=examples("""
fabric state show
fabric state show --stage prod --provider edge1-workers
""")
)
@scope_options
def show(**options: Any) -> int:
    """Show one record: functions, outputs, what is unfinished, and what came before."""
    from fabric.app.state.look import show as show_record

    return finished(lambda asked, settings, _: show_record(asked, settings), "show", **options)


@click.command(
    epilog=examples("""
fabric state pull > state.json
fabric state pull --stage prod --provider cloud1-lambda --json
""")
)
@scope_options
def pull(**options: Any) -> int:
    """Print one record as it is stored. There is no secret in it."""
    from fabric.app.state.look import pull as pull_record

    return finished(lambda asked, settings, _: pull_record(asked, settings), "pull", **options)


@click.command(
    epilog=examples("""
fabric state reconcile                  what does not agree in stage dev
fabric state reconcile --stage prod --fix
""")
)
@scope_options
@click.option("--fix", is_flag=True, help="Make receipts anew where they differ from records.")
def reconcile(fix: bool, **options: Any) -> int:  # noqa: FBT001 - a flag of the command line
    """Compare config, records, receipts, archives and, in real mode, the provider."""
    from fabric.app.state.reconcile import reconcile as compare

    return finished(
        lambda asked, settings, _: compare(asked, settings, fix=fix), "reconcile", **options
    )
