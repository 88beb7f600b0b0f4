"""`fabric stages` and `fabric sweep`: list deployed stages, and remove previews that have ended."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import (
    ConfigFile,
    LockTimeout,
    Params,
    ScreenFlags,
    Yes,
    build_compose_option,
    format_examples,
)
from fabric.cli.run_options import ConcurrencyOption

if TYPE_CHECKING:
    from fabric.app.request import Where


class ServicesFlags(Struct, frozen=True):
    """One service, or all services of a compose file."""

    config: ConfigFile
    compose: Annotated[
        str,
        build_compose_option("All services of this compose file. [default: if there is no config]"),
    ]
    params: Params

    @property
    def where(self) -> "Where":
        from fabric.app.request import Where, parse_params

        return Where(self.config, self.compose, params=parse_params(self.params))


class StagesFlags(Struct, frozen=True):
    chosen: ServicesFlags
    screen: ScreenFlags


class SweepFlags(Struct, frozen=True):
    chosen: ServicesFlags
    expired: Annotated[
        bool, click.option("--expired", is_flag=True, help="Previews that have expired. [default]")
    ]
    branches_gone: Annotated[
        bool,
        click.option(
            "--branches-gone",
            is_flag=True,
            help="Previews whose branch the remote `origin` does not have.",
        ),
    ]
    older_than: Annotated[
        str,
        click.option(
            "--older-than",
            default="",
            metavar="DURATION",
            help="Previews whose last deploy is older, such as 7d.",
        ),
    ]
    dry_run: Annotated[
        bool, click.option("--dry-run", is_flag=True, help="Show what would be removed.")
    ]
    yes: Yes
    lock_timeout: LockTimeout
    concurrency: ConcurrencyOption
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric stages                         stages of the service, or of all services
fabric stages -f fabric.compose.yml --json
"""),
)
@pass_flags(StagesFlags)
def stages(flags: StagesFlags) -> int:
    """List the deployed stages of all services.

    Shows the commit, who deployed it, and when previews expire. Reads the state backends of all
    stages of the configs, and calls no provider.
    """
    from fabric.app.deploy.stages import report_stages
    from fabric.cli.perform import Order, build_question_request, perform

    order = Order(build_question_request("stages", flags.chosen.where), flags.screen)
    return perform(order, lambda one, caller: report_stages(one, caller.settings))


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric sweep --dry-run                      show which expired previews would be removed
fabric sweep --older-than 30d --yes         remove old previews without a prompt
"""),
)
@pass_flags(SweepFlags)
def sweep(flags: SweepFlags) -> int:
    """Remove previews that have ended.

    Previews are stages that were deployed with --preview or --expires. Other stages and protected
    stages are never removed. With several conditions, one of them is enough.
    """
    from msgspec.structs import replace

    from fabric.app.deploy.sweep import SweepOptions
    from fabric.app.deploy.sweep import sweep as remove_previews
    from fabric.app.request import Execution
    from fabric.cli.consent import build_confirmation
    from fabric.cli.perform import Caller, Order, build_question_request, perform
    from fabric.model.time.time_spans import parse_seconds

    older_than = parse_seconds("--older-than", flags.older_than) if flags.older_than else None
    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)

    def build_options(caller: Caller) -> SweepOptions:
        return SweepOptions(
            expired=flags.expired,
            branches_gone=flags.branches_gone,
            older_than=older_than,
            dry_run=flags.dry_run,
            lock_timeout=timeout,
            agrees=build_confirmation(caller.screen, caller.settings, yes=flags.yes),
        )

    request = build_question_request("sweep", flags.chosen.where)
    request = replace(request, execution=Execution(concurrency=flags.concurrency))
    return perform(
        Order(request, flags.screen),
        lambda one, caller: remove_previews(
            one, caller.settings, build_options(caller), caller.make_listeners
        ),
    )
