"""`fabric router deploy`: deploy all targets, then update DNS."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from fabric.cli.commands.router import ConsentFlags, DryRun, RouterFlags, request_of
from fabric.cli.flags_of import pass_flags
from fabric.cli.keep_going import KeepGoing, refuse_opposites
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import format_examples
from fabric.cli.run_options import RunFlags

if TYPE_CHECKING:
    from fabric.app.deploy.production_guard import AskFor
    from fabric.app.records.scope import OpenDnsSync
    from fabric.app.request import Request
    from fabric.app.router.deploy import RouterDeploy
    from fabric.cli.perform import Caller, Order
    from fabric.model.report import Report

_COMMAND = "router deploy"


class RouterDeployFlags(Struct, frozen=True):
    router: RouterFlags
    sync_dns: Annotated[
        bool,
        click.option("--sync-dns", is_flag=True, help="Update DNS after all targets are deployed."),
    ]
    force: Annotated[
        bool, click.option("--force", is_flag=True, help="Redeploy functions that are up to date.")
    ]
    rollback: Annotated[
        bool | None,
        click.option(
            "--rollback-on-failure/--no-rollback-on-failure",
            "rollback",
            default=None,
            help="Roll back all targets to the previous deployment if any target fails.",
        ),
    ]
    keep_going: KeepGoing
    dry_run: DryRun
    run: RunFlags
    consent: ConsentFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric router deploy                        deploy all targets without a DNS change
fabric router deploy --sync-dns --dry-run   show what would be deployed and changed
fabric router deploy --sync-dns --stage prod --allow-prod-dns-sync
"""),
)
@pass_flags(RouterDeployFlags)
def deploy(flags: RouterDeployFlags) -> int:
    """Deploy all targets, then update DNS.

    Each label below `fabric.targets` is deployed. With --sync-dns, or `autoApply: true` in the
    config, DNS is updated afterwards. If a target fails, DNS is not changed.
    """
    from fabric.cli.perform import perform

    return perform(_order(flags), lambda one, caller: _deploy_targets(flags, one, caller))


def _order(flags: RouterDeployFlags) -> "Order":
    from fabric.app.request import Execution, Request
    from fabric.cli.perform import Order, list_outlets, with_run
    from fabric.model.names import Verb

    opposites = {
        "--fail-fast": flags.run.fail_fast,
        "--rollback-on-failure": bool(flags.rollback),
    }
    refuse_opposites(opposites, keep_going=flags.keep_going)
    _refuse_unfitting(flags)
    where = request_of("deploy", flags.router).where
    execution = Execution(keep_going=flags.keep_going)
    request = Request(Verb.DEPLOY, _COMMAND, where, execution=execution)
    return Order(with_run(request, flags.run), flags.router.screen, list_outlets(flags.run))


def _refuse_unfitting(flags: RouterDeployFlags) -> None:
    """A dry run runs no tasks."""
    from fabric.cli.option_groups import reject_ineffective_options

    if not flags.dry_run:
        return
    run = flags.run
    told = {
        "--events": run.outputs.events,
        "--profile": run.outputs.profile,
        "--junit": run.outputs.junit,
        "--otlp": run.outputs.otlp,
        "--out": run.outputs.out,
    }
    given = tuple(name for name, value in told.items() if value)
    reject_ineffective_options(given, "remove one of them: --dry-run runs no tasks")


def _deploy_targets(flags: RouterDeployFlags, request: "Request", caller: "Caller") -> "Report":
    from fabric.app.deploy.deploy import DeployOptions
    from fabric.app.deploy.deploy import deploy as deploy_services
    from fabric.app.plan import PlanOptions, plan
    from fabric.app.router.deploy import deploy_targets, plan_targets
    from fabric.model.time.time_spans import parse_seconds

    timeout = parse_seconds("--lock-timeout", flags.consent.lock_timeout)

    def deploy_together(one: "Request", names: "OpenDnsSync", ask: "AskFor") -> "Report":
        options = DeployOptions(flags.force, flags.rollback, timeout, ask=ask, names=names)
        return deploy_services(one, caller.settings, options, caller.make_listeners)

    if flags.dry_run:
        return plan_targets(
            _build_work(flags, request, caller),
            caller.settings,
            lambda one: plan(one, PlanOptions(), caller.settings),
        )
    return deploy_targets(_build_work(flags, request, caller), caller.settings, deploy_together)


def _build_work(flags: RouterDeployFlags, request: "Request", caller: "Caller") -> "RouterDeploy":
    from fabric.app.router.deploy import RouterDeploy
    from fabric.app.router.sync import DnsChange
    from fabric.cli.consent import build_confirmation, build_word_prompt

    said = flags.consent
    agrees = build_confirmation(caller.screen, caller.settings, yes=said.yes)
    change = DnsChange("dns-sync", "router deploy", consent=said.consent, agrees=agrees)
    asked = request_of("deploy", flags.router, said.lock_timeout)
    ask = build_word_prompt(caller.screen, caller.settings)
    return RouterDeploy(request, asked, flags.sync_dns, change, ask)
