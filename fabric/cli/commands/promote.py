"""`fabric promote`: deploy the archives of one stage to another one."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.commands.stages import ServicesFlags
from fabric.cli.complete import complete_names
from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import (
    Events,
    LockTimeout,
    RollbackOnFailure,
    ScreenFlags,
    Services,
    format_examples,
)
from fabric.cli.run_options import ConcurrencyOption, Otlp

if TYPE_CHECKING:
    from fabric.app.request import Request


class StagesFlags(Struct, frozen=True):
    source: Annotated[
        str, click.argument("source", metavar="FROM", shell_complete=complete_names("stage"))
    ]
    target: Annotated[
        str, click.argument("target", metavar="TO", shell_complete=complete_names("stage"))
    ]


class PromoteFlags(Struct, frozen=True):
    stages: StagesFlags
    chosen: ServicesFlags
    services: Services
    dry_run: Annotated[
        bool, click.option("--dry-run", is_flag=True, help="Show the plan without changes.")
    ]
    rollback: RollbackOnFailure
    lock_timeout: LockTimeout
    concurrency: ConcurrencyOption
    events: Events
    otlp: Otlp
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric promote dev prod                 deploy what is live in dev to prod
fabric promote dev prod --dry-run       show the plan
fabric promote staging prod -f fabric.compose.yml --service api
"""),
)
@pass_flags(PromoteFlags)
def promote(flags: PromoteFlags) -> int:
    """Deploy the archives of one stage to another one.

    The functions of TO get exactly the archives that are deployed in FROM, with the settings,
    variables and secrets of TO. Nothing is built, and the sources are not needed: only the
    configs. A function that is built differently for TO is refused.
    """
    from fabric.app.deploy.deploy import DeployOptions
    from fabric.app.deploy.promote import PromotedStages
    from fabric.app.deploy.promote import promote as promote_services
    from fabric.cli.consent import build_word_prompt
    from fabric.cli.perform import Order, Outlets, perform
    from fabric.model.time.time_spans import parse_seconds

    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)
    options = DeployOptions(rollback=flags.rollback, lock_timeout=timeout)
    return perform(
        Order(_build_request(flags), flags.screen, Outlets(flags.events, otlp=flags.otlp)),
        lambda one, caller: promote_services(
            one,
            caller.settings,
            PromotedStages(flags.stages.source, flags.stages.target, flags.dry_run),
            replace(options, ask=build_word_prompt(caller.screen, caller.settings)),
            caller.make_listeners,
        ),
    )


def _build_request(flags: PromoteFlags) -> "Request":
    from fabric.app.deploy.stages import find_all_services
    from fabric.app.request import Execution
    from fabric.cli.perform import build_question_request
    from fabric.cli.start import get_command_start
    from fabric.model.problems import FabricError, Problem

    where = find_all_services(flags.chosen.where, get_command_start().settings)
    if flags.services and not where.compose:
        message = "--service has no effect without a compose file"
        raise FabricError(Problem("usage/no-effect", message, "add -f fabric.compose.yml"))
    where = replace(where, services=flags.services)
    request = build_question_request("promote", where)
    return replace(request, execution=Execution(concurrency=flags.concurrency))
