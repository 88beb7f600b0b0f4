"""`fabric remove`: delete the resources of a stage."""

from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import (
    ComposeFlags,
    Functions,
    LockTimeout,
    PlaceFlags,
    Provider,
    ScreenFlags,
    SourceFlags,
    format_examples,
)
from fabric.cli.run_options import RemovalFlags

if TYPE_CHECKING:
    from fabric.app.request import Request, Where


class RemoveFlags(Struct, frozen=True):
    place: PlaceFlags
    functions: Functions
    source: SourceFlags
    lock_timeout: LockTimeout
    removal: RemovalFlags
    screen: ScreenFlags

    @property
    def where(self) -> "Where":
        return self.place.where


class ComposeRemoveFlags(Struct, frozen=True):
    chosen: ComposeFlags
    provider: Provider
    lock_timeout: LockTimeout
    removal: RemovalFlags
    screen: ScreenFlags

    @property
    def where(self) -> "Where":
        return replace(self.chosen.where, provider=self.provider)

    @property
    def functions(self) -> tuple[str, ...]:
        """Return all functions, because whole services are deleted."""
        return ()


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric remove                     delete the service from stage dev
fabric remove --stage prod --yes  delete it from prod without a prompt
fabric remove --function old      delete one function
fabric remove --with-stack        also delete the CloudFormation stacks
"""),
)
@pass_flags(RemoveFlags)
def remove(flags: RemoveFlags) -> int:
    """Delete a deployed service.

    Deletes the functions at the provider, then the state and the receipt of the stage. Other
    stages are not changed. Resources that are already missing are not an error. With
    --function, only these functions are deleted. The next deploy creates them again if the
    config still contains them.
    """
    return run_remove("remove", flags, flags.source)


def run_remove(
    command: str, flags: RemoveFlags | ComposeRemoveFlags, source: SourceFlags | None = None
) -> int:
    from fabric.app.deploy.remove import RemoveOptions
    from fabric.app.deploy.remove import remove as remove_services
    from fabric.cli.consent import build_confirmation, build_word_prompt
    from fabric.cli.perform import Caller, Order, Outlets, perform
    from fabric.model.time.time_spans import parse_seconds

    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)
    outlets = Outlets(flags.removal.events, logs=flags.removal.logs, otlp=flags.removal.otlp)

    def build_options(caller: Caller) -> RemoveOptions:
        agrees = build_confirmation(caller.screen, caller.settings, yes=flags.removal.yes)
        ask = build_word_prompt(caller.screen, caller.settings)
        return RemoveOptions(timeout, agrees, ask, flags.removal.with_stack)

    return perform(
        Order(_request(command, flags), flags.screen, outlets, source),
        lambda one, caller: remove_services(
            one, caller.settings, build_options(caller), caller.make_listeners
        ),
    )


def _request(command: str, flags: RemoveFlags | ComposeRemoveFlags) -> "Request":
    from fabric.app.request import Execution
    from fabric.cli.perform import build_question_request

    return replace(
        build_question_request(command, flags.where),
        functions=frozenset(flags.functions),
        execution=Execution(
            concurrency=flags.removal.concurrency, fail_fast=flags.removal.fail_fast
        ),
    )
