"""`fabric state …`: commands that only read state."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import click
from msgspec import Struct

from fabric.cli import commands_table as table
from fabric.cli.flags_of import pass_flags
from fabric.cli.main import LazyGroup
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import PlaceFlags, ScreenFlags, format_examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabric.app.settings import Settings
    from fabric.app.state.records import Agrees
    from fabric.app.state.scope import StateRequest
    from fabric.model.report import Report

    StateCase: TypeAlias = Callable[[StateRequest, Settings, Agrees], Report]

state = LazyGroup(
    name="state",
    help="Inspect, back up, migrate and repair state.",
    epilog="Examples:\n  fabric state list\n  fabric state backup --out before-the-move.json",
    no_args_is_help=True,
).listing(table.STATE)
OtherService: TypeAlias = Annotated[
    str,
    click.option(
        "--service", default="", metavar="NAME", help="Another service in the same state backend."
    ),
]


class RecordFlags(Struct, frozen=True):
    """Which records, in which store."""

    place: PlaceFlags
    service: OtherService
    backend: Annotated[
        str,
        click.option(
            "--backend",
            default="",
            metavar="KIND",
            help="Use this state backend instead: local, sql, objstore1, objstore2, objstore3.",
        ),
    ]
    screen: ScreenFlags


class ReconcileFlags(Struct, frozen=True):
    record: RecordFlags
    fix: Annotated[
        bool,
        click.option(
            "--fix", is_flag=True, help="Rewrite receipts that differ from their records."
        ),
    ]


def build_state_request(
    command: str, record: RecordFlags, lock_timeout: str = "0"
) -> "StateRequest":
    from fabric.app.state.scope import StateRequest
    from fabric.model.time.time_spans import parse_seconds

    timeout = parse_seconds("--lock-timeout", lock_timeout)
    return StateRequest(
        f"state {command}", record.place.where, record.service, record.backend, timeout
    )


def perform_on(
    asked: "StateRequest", flags: ScreenFlags, use_case: "StateCase", *, yes: bool = False
) -> int:
    """Run a state command. `use_case` receives the request, the settings and the confirmation
    prompt."""
    from fabric.cli.consent import build_confirmation
    from fabric.cli.screen import Screen
    from fabric.cli.start import get_command_start

    settings = get_command_start().settings
    screen = Screen.of(settings, as_json=flags.as_json, colour=flags.color)
    return screen.finish(use_case(asked, settings, build_confirmation(screen, settings, yes=yes)))


@click.command(
    cls=GroupedCommand,
    name="list",
    epilog=format_examples("""
fabric state list                show all stages of the service
fabric state list --stage prod --json
"""),
)
@pass_flags(RecordFlags)
def list_(flags: RecordFlags) -> int:
    """List the records of a service: one per stage and provider."""
    from fabric.app.state.records import list_records

    asked = build_state_request("list", flags)
    return perform_on(asked, flags.screen, lambda one, settings, _: list_records(one, settings))


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric state show
fabric state show --stage prod --provider edge1-workers
"""),
)
@pass_flags(RecordFlags)
def show(flags: RecordFlags) -> int:
    """Show one record.

    A record contains functions, outputs, unfinished changes and history.
    """
    from fabric.app.state.records import show as show_record

    asked = build_state_request("show", flags)
    return perform_on(asked, flags.screen, lambda one, settings, _: show_record(one, settings))


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric state pull > state.json
fabric state pull --stage prod --provider cloud1-lambda --json
"""),
)
@pass_flags(RecordFlags)
def pull(flags: RecordFlags) -> int:
    """Print one record as it is stored.

    Records contain no secrets.
    """
    from fabric.app.state.records import pull as pull_record

    asked = build_state_request("pull", flags)
    return perform_on(asked, flags.screen, lambda one, settings, _: pull_record(one, settings))


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric state reconcile                  show differences in stage dev
fabric state reconcile --stage prod --fix
"""),
)
@pass_flags(ReconcileFlags)
def reconcile(flags: ReconcileFlags) -> int:
    """Compare state with receipts and providers.

    Also compares the config and the archives. Providers are called only in real mode.
    """
    from fabric.app.state.reconcile import reconcile as compare

    return perform_on(
        build_state_request("reconcile", flags.record),
        flags.record.screen,
        lambda one, settings, _: compare(one, settings, fix=flags.fix),
    )
