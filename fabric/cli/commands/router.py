"""`fabric router …`: commands that change the DNS routing."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import click
from msgspec import Struct

from fabric.cli import commands_table as table
from fabric.cli.complete import complete_names
from fabric.cli.flags_of import pass_flags
from fabric.cli.main import LazyGroup
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import (
    ConfigFile,
    LockTimeout,
    Params,
    ScreenFlags,
    Stage,
    Yes,
    format_examples,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabric.app.deploy.production_guard import AskFor
    from fabric.app.router.scope import RouterRequest
    from fabric.app.router.sync import DnsChange
    from fabric.app.settings import Settings
    from fabric.model.report import Report
    from fabric.router.settings import ChangeConsent

    LookCase: TypeAlias = Callable[[RouterRequest, Settings], Report]
    ChangeCase: TypeAlias = Callable[[RouterRequest, Settings, DnsChange, AskFor], Report]

router = LazyGroup(
    name="router",
    help="Split traffic for one hostname across providers.",
    epilog="Examples:\n  fabric router deploy --sync-dns\n"
    "  fabric router dns-shift --provider spare --percent 25",
    no_args_is_help=True,
).listing(table.ROUTER)
_EVERY = "2m"
AllowProd: TypeAlias = Annotated[
    bool,
    click.option(
        "--allow-prod-dns-sync",
        "allow_prod",
        is_flag=True,
        help="Allow DNS changes in stage `prod`.",
    ),
]
Reason: TypeAlias = Annotated[
    str,
    click.option("--reason", default="", metavar="TEXT", help="Reason to record in the history."),
]
DryRun: TypeAlias = Annotated[
    bool, click.option("--dry-run", is_flag=True, help="Print the changes without applying them.")
]


class RouterFlags(Struct, frozen=True):
    """Which router, and how the answer is shown."""

    config: ConfigFile
    stage: Stage
    params: Params
    screen: ScreenFlags


class ConsentFlags(Struct, frozen=True):
    """The confirmations required before DNS changes."""

    allow_prod: AllowProd
    reason: Reason
    yes: Yes
    lock_timeout: LockTimeout

    @property
    def given(self) -> tuple[str, ...]:
        """The options that were."""
        said = {
            "--allow-prod-dns-sync": self.allow_prod,
            "--reason": self.reason,
            "--yes": self.yes,
            "--lock-timeout": self.lock_timeout != "0",
        }
        return tuple(name for name, value in said.items() if value)

    @property
    def consent(self) -> "ChangeConsent":
        from fabric.router.settings import ChangeConsent

        return ChangeConsent(self.reason, self.allow_prod)


class SyncFlags(Struct, frozen=True):
    router: RouterFlags
    dry_run: DryRun
    consent: ConsentFlags


class RouterReconcileFlags(Struct, frozen=True):
    router: RouterFlags
    apply: Annotated[bool, click.option("--apply", is_flag=True, help="Apply the changes.")]
    consent: ConsentFlags


class RouterShiftFlags(Struct, frozen=True):
    router: RouterFlags
    label: Annotated[
        str,
        click.option(
            "--provider",
            "label",
            required=True,
            metavar="LABEL",
            shell_complete=complete_names("provider"),
            help="Endpoint label from `providerOverrides`, or a provider ID.",
        ),
    ]
    percent: Annotated[
        int | None,
        click.option("--percent", type=int, metavar="N", help="Traffic percentage, from 1 to 99."),
    ]
    steps: Annotated[
        str,
        click.option(
            "--steps",
            default="",
            metavar="N,N,…",
            help="Increase traffic in steps, with a health check after each one.",
        ),
    ]
    every: Annotated[
        str | None,
        click.option(
            "--every",
            metavar="DURATION",
            help=f"With --steps: duration of each step. [default: {_EVERY}]",
        ),
    ]
    dry_run: DryRun
    consent: ConsentFlags


class RouterRestoreFlags(Struct, frozen=True):
    router: RouterFlags
    snapshot: Annotated[
        str,
        click.option(
            "--snapshot-id",
            "snapshot",
            default="",
            metavar="ID",
            help="ID of the history entry to restore. [default: the previous one]",
        ),
    ]
    dry_run: DryRun
    consent: ConsentFlags


def request_of(command: str, flags: RouterFlags, lock_timeout: str = "0") -> "RouterRequest":
    from fabric.app.request import Where, parse_params
    from fabric.app.router.scope import RouterRequest
    from fabric.model.time.time_spans import parse_seconds

    where = Where(flags.config, stage=flags.stage, params=parse_params(flags.params))
    return RouterRequest(f"router {command}", where, parse_seconds("--lock-timeout", lock_timeout))


def report_routing(command: str, flags: RouterFlags, use_case: "LookCase") -> int:
    from fabric.cli.screen import Screen
    from fabric.cli.start import get_command_start

    settings = get_command_start().settings
    screen = Screen.of(settings, as_json=flags.screen.as_json, colour=flags.screen.color)
    return screen.finish(use_case(request_of(command, flags), settings))


def _change_routing(
    command: str,
    flags: RouterFlags,
    said: ConsentFlags,
    use_case: "ChangeCase",
    *,
    dry_run: bool = False,
) -> int:
    from fabric.app.router.sync import DnsChange
    from fabric.cli.consent import build_confirmation, build_word_prompt
    from fabric.cli.screen import Screen
    from fabric.cli.start import get_command_start

    settings = get_command_start().settings
    screen = Screen.of(settings, as_json=flags.screen.as_json, colour=flags.screen.color)
    agrees = build_confirmation(screen, settings, yes=said.yes)
    change = DnsChange(command, dry_run=dry_run, consent=said.consent, agrees=agrees)
    asked = request_of(command, flags, said.lock_timeout)
    return screen.finish(use_case(asked, settings, change, build_word_prompt(screen, settings)))


@click.command(
    cls=GroupedCommand,
    name="dns-sync",
    epilog=format_examples("""
fabric router dns-sync
fabric router dns-sync --stage prod --allow-prod-dns-sync --reason "new region"
"""),
)
@pass_flags(SyncFlags)
def dns_sync(flags: SyncFlags) -> int:
    """Update DNS to route to the deployed endpoints.

    Only DNS records that differ are changed. Current weights are kept. DNS records of other
    owners are never changed.
    """
    from fabric.app.router.change import sync_dns as sync

    return _change_routing("dns-sync", flags.router, flags.consent, sync, dry_run=flags.dry_run)


@click.command(
    cls=GroupedCommand,
    name="dns-reconcile",
    epilog=format_examples("""
fabric router dns-reconcile                 show drift without changing anything
fabric router dns-reconcile --apply --yes
"""),
)
@pass_flags(RouterReconcileFlags)
def dns_reconcile(flags: RouterReconcileFlags) -> int:
    """Show DNS drift, and fix it with --apply.

    Unused records that fabric created are listed as candidates for deletion. They are never
    deleted.
    """
    from fabric.app.router.change import reconcile_dns as reconcile
    from fabric.cli.option_groups import reject_ineffective_options

    if not flags.apply:
        reject_ineffective_options(
            flags.consent.given, "add --apply: without it nothing is changed"
        )
    return _change_routing(
        "dns-reconcile", flags.router, flags.consent, reconcile, dry_run=not flags.apply
    )


@click.command(
    cls=GroupedCommand,
    name="dns-shift",
    epilog=format_examples("""
fabric router dns-shift --provider spare --percent 25
fabric router dns-shift --provider spare --percent 25 --dry-run --json
fabric router dns-shift --provider spare --steps 5,25,50,100 --every 2m
"""),
)
@pass_flags(RouterShiftFlags)
def dns_shift(flags: RouterShiftFlags) -> int:
    """Set the traffic percentage of one endpoint.

    The other endpoints share the rest in the same ratio as before, each at least 1 %. With
    --steps, traffic increases step by step (100 is the maximum: the others keep 1 % each). If the
    endpoint is unhealthy after a step, its original weight is restored.
    """
    use_case = _shift_in_steps(flags) if flags.steps else _shift_immediately(flags)
    return _change_routing(
        "dns-shift", flags.router, flags.consent, use_case, dry_run=flags.dry_run
    )


def _shift_immediately(flags: RouterShiftFlags) -> "ChangeCase":
    from fabric.app.router.change import WeightShift, shift_dns
    from fabric.cli.option_groups import reject_ineffective_options

    percent = flags.percent
    if percent is None:
        raise click.UsageError("missing option `--percent` or `--steps`")
    if flags.every is not None:
        reject_ineffective_options(
            ("--every",), "add --steps: --every is the duration of each step"
        )
    shift = WeightShift(flags.label, percent)
    return lambda asked, settings, change, ask: shift_dns(asked, settings, change, shift, ask)


def _shift_in_steps(flags: RouterShiftFlags) -> "ChangeCase":
    from fabric.app.router.steps import StepPlan, shift_dns_in_steps
    from fabric.model.time.time_spans import parse_seconds

    if flags.percent is not None:
        raise click.UsageError("--percent cannot be combined with --steps")
    every = parse_seconds("--every", _EVERY if flags.every is None else flags.every)
    plan = StepPlan(flags.label, flags.steps, every, lambda text: click.echo(text, err=True))
    return lambda asked, settings, change, ask: shift_dns_in_steps(
        asked, settings, change, plan, ask
    )


@click.command(
    cls=GroupedCommand,
    name="dns-restore",
    epilog=format_examples("""
fabric router dns-restore
fabric router dns-restore --snapshot-id prod-1767225600-a1b2c3
"""),
)
@pass_flags(RouterRestoreFlags)
def dns_restore(flags: RouterRestoreFlags) -> int:
    """Restore earlier traffic weights.

    By default, the weights before the current ones are restored. Dry runs do not count. `fabric
    router dns-history` lists the IDs of all snapshots.
    """
    from fabric.app.router.change import restore_dns as restore

    return _change_routing(
        "dns-restore",
        flags.router,
        flags.consent,
        lambda asked, settings, change, ask: restore(asked, settings, change, flags.snapshot, ask),
        dry_run=flags.dry_run,
    )
