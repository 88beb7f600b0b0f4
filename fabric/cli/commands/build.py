"""`fabric build` and `fabric package`: options to a request, a request to the engine."""

from typing import Annotated, TypeAlias

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import ComposeFlags, FunctionFlags, ScreenFlags, format_examples
from fabric.cli.run_options import RunFlags

Part: TypeAlias = Annotated[
    str,
    click.option(
        "--shard",
        default="",
        metavar="I/N",
        help="Build shard I of N, to split a run across CI machines.",
    ),
]


class BuildFlags(Struct, frozen=True):
    chosen: FunctionFlags
    shard: Part
    run: RunFlags
    screen: ScreenFlags


class ComposeBuildFlags(Struct, frozen=True):
    chosen: ComposeFlags
    shard: Part
    run: RunFlags
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric build                              build the functions that changed
fabric build --function hello --no-cache  rebuild one function
"""),
)
@pass_flags(BuildFlags)
def build(flags: BuildFlags) -> int:
    """Build the functions that changed.

    Each function is built to a directory below .fabric/build. If its inputs did not change, it
    is not built again. Changed or deleted build output is restored from the cache.
    """
    return run_verb("build", "build", flags)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric package                    write one reproducible archive per function
fabric package --out dist --json  copy the archives to dist and print their hashes
"""),
)
@pass_flags(BuildFlags)
def package(flags: BuildFlags) -> int:
    """Build functions and package them into archives.

    Builds what changed, downloads pinned third-party packages, and writes one archive for each
    function to .fabric/build. The same inputs produce the same bytes on every machine.
    """
    return run_verb("package", "package", flags)


def run_verb(verb: str, command: str, flags: BuildFlags | ComposeBuildFlags) -> int:
    """Run a verb for the service or compose file that the flags select."""
    from msgspec.structs import replace

    from fabric.app.build import build as build_services
    from fabric.cli.perform import Order, list_outlets, perform, run_request
    from fabric.graph.shards import parse_shard
    from fabric.model.names import Verb

    request = run_request(Verb(verb), command, flags.chosen, flags.run)
    if flags.shard:
        request = replace(request, shard=parse_shard(flags.shard))
    plain = flags.chosen.is_plain and flags.run.is_plain and not flags.shard
    order = Order(request, flags.screen, list_outlets(flags.run), may_be_kept=plain)
    return perform(
        order,
        lambda one, caller: build_services(
            one, caller.settings, caller.make_listeners, caller.command_line
        ),
    )
