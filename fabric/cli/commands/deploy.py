"""`fabric deploy`: convert options to a request and deploy."""

from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.flags_of import pass_flags
from fabric.cli.keep_going import KeepGoing, refuse_opposites
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import (
    ComposeFlags,
    FunctionFlags,
    LiveFlags,
    LockTimeout,
    ScreenFlags,
    SourceFlags,
    format_examples,
)
from fabric.cli.run_options import RunFlags

if TYPE_CHECKING:
    from fabric.app.deploy.deploy import DeployOptions
    from fabric.app.records.scope import DnsSyncFactory
    from fabric.app.request import Request, Where
    from fabric.cli.perform import Order


class DeployFlags(Struct, frozen=True):
    chosen: FunctionFlags
    source: SourceFlags
    live: LiveFlags
    keep_going: KeepGoing
    lock_timeout: LockTimeout
    run: RunFlags
    screen: ScreenFlags


class ComposeDeployFlags(Struct, frozen=True):
    chosen: ComposeFlags
    live: LiveFlags
    keep_going: KeepGoing
    lock_timeout: LockTimeout
    run: RunFlags
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric deploy                                     deploy what changed
fabric deploy --stage prod --rollback-on-failure  roll back if anything fails
fabric deploy --preview pr-7 --expires 3d         a stage that `fabric sweep` removes
"""),
)
@pass_flags(DeployFlags)
def deploy(flags: DeployFlags) -> int:
    """Deploy the functions that changed.

    Builds and packages the service first, then deploys the functions that changed. Functions
    that the config no longer contains are deleted. If a function cannot be built or packaged,
    nothing of the service is deployed.

    Deploys are simulated unless FABRIC_REAL_DEPLOY=1 or FABRIC_<PROVIDER>_REAL_DEPLOY=1 is set.
    """
    return run_deploy("deploy", flags, flags.source)


def run_deploy(
    command: str, flags: DeployFlags | ComposeDeployFlags, source: SourceFlags | None = None
) -> int:
    from fabric.app.deploy.deploy import deploy as deploy_services
    from fabric.app.deploy.preview_stages import parse_preview_options
    from fabric.cli.consent import build_word_prompt
    from fabric.cli.perform import perform

    options = _build_options(flags)
    return perform(
        _order(command, flags, source),
        lambda one, caller: deploy_services(
            one,
            caller.settings,
            replace(
                options,
                ask=build_word_prompt(caller.screen, caller.settings),
                preview=parse_preview_options(
                    flags.live.preview, flags.live.expires, caller.settings
                ),
            ),
            caller.make_listeners,
            caller.command_line,
        ),
    )


def _order(
    command: str, flags: DeployFlags | ComposeDeployFlags, source: SourceFlags | None
) -> "Order":
    from fabric.cli.perform import Order, list_outlets

    is_here = source is None or not source.source
    plain = flags.chosen.is_plain and flags.run.is_plain and flags.live.is_plain
    return Order(
        _request(command, flags),
        flags.screen,
        list_outlets(flags.run),
        source,
        may_be_kept=plain and is_here,
    )


def _request(command: str, flags: DeployFlags | ComposeDeployFlags) -> "Request":
    from fabric.cli.perform import run_request
    from fabric.model.names import Verb

    _refuse_opposites(flags)
    request = run_request(Verb.DEPLOY, command, flags.chosen, flags.run)
    stage = flags.live.preview or request.where.stage
    where = replace(request.where, stage=stage)
    execution = replace(request.execution, keep_going=flags.keep_going)
    return replace(request, where=where, execution=execution)


def _refuse_opposites(flags: DeployFlags | ComposeDeployFlags) -> None:
    from fabric.model.problems import FabricError, Problem

    if flags.live.preview and flags.chosen.where.stage:
        message = (
            f"--preview {flags.live.preview} cannot be combined with --stage: a preview is a stage"
        )
        raise FabricError(Problem("usage/two-stages", message, hint="remove one of them"))
    opposites = {
        "--fail-fast": flags.run.fail_fast,
        "--rollback-on-failure": bool(flags.live.rollback),
    }
    refuse_opposites(opposites, keep_going=flags.keep_going)


def _build_options(flags: DeployFlags | ComposeDeployFlags) -> "DeployOptions":
    from fabric.app.deploy.deploy import DeployOptions
    from fabric.model.time.time_spans import parse_seconds

    live = flags.live
    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)
    return DeployOptions(live.force, live.rollback, timeout, live.plan, names=_make_dns_factory)


def _make_dns_factory(where: "Where", lock_timeout: float) -> "DnsSyncFactory":
    """Build the DNS factory. Called only for services with a router."""
    from fabric.app.router.dns_updates import make_dns_factory

    return make_dns_factory(where, lock_timeout)
