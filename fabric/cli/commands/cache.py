"""`fabric cache`: statistics, verification, pruning; and the cache that is shared."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.group import Group
from fabric.cli.options import ScreenFlags, examples
from fabric.cli.run_options import Caches


class PruneFlags(Struct, frozen=True):
    max_size: Annotated[
        str,
        click.option(
            "--max-size", default="5G", show_default=True, metavar="SIZE", help="Keep at most."
        ),
    ]
    max_age: Annotated[
        str,
        click.option(
            "--max-age",
            default="",
            metavar="DURATION",
            help="Drop what is older: 90s, 2m, 1h, 30d.",
        ),
    ]
    screen: ScreenFlags


class CacheStatusFlags(Struct, frozen=True):
    cache: Caches
    screen: ScreenFlags


@click.group(cls=Group, epilog=examples("fabric cache stats\nfabric cache prune --max-size 500M"))
def cache() -> None:
    """Keep house with the cache. Everything in it can be made again."""


@cache.command(epilog=examples("fabric cache stats\nfabric cache stats --json"))
@flags_of(ScreenFlags)
def stats(screen: ScreenFlags) -> int:
    """Tell where the cache lies and how big it is."""
    from fabric.app.cache import stats as cache_stats
    from fabric.cli.answer import answer

    return answer(screen, cache_stats)


@cache.command(epilog=examples("fabric cache status\nfabric cache status --cache remote:rw --json"))
@flags_of(CacheStatusFlags)
def status(flags: CacheStatusFlags) -> int:
    """Ask the shared cache what it has.

    Says where it lies, whether it is read and written from here, and what is known there of this
    commit and its branches. Where it may be written, a small object and a large one are put there
    on trial.
    """
    from fabric.app.shared_status import status as shared_status
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: shared_status(settings, flags.cache))


@cache.command(
    epilog=examples(
        "fabric cache key                 a key for FABRIC_REMOTE_CACHE_KEY\n"
        "fabric cache key --json          the same, for a program"
    )
)
@flags_of(ScreenFlags)
def key(screen: ScreenFlags) -> int:
    """Make a key for a shared cache. It is shown and kept nowhere."""
    from fabric.app.shared_status import new_key
    from fabric.cli.answer import answer

    return answer(screen, new_key)


@cache.command(epilog=examples("fabric cache verify\nfabric cache verify --json"))
@flags_of(ScreenFlags)
def verify(screen: ScreenFlags) -> int:
    """Read all that is kept and drop what is damaged."""
    from fabric.app.cache import verify as verify_cache
    from fabric.cli.answer import answer

    return answer(screen, verify_cache)


@cache.command(
    epilog=examples("fabric cache prune --max-size 500M\nfabric cache prune --max-age 30d")
)
@flags_of(PruneFlags)
def prune(flags: PruneFlags) -> int:
    """Drop the outputs that were unused for longest."""
    from fabric.app.cache import prune as prune_cache
    from fabric.cli.answer import answer

    return answer(
        flags.screen, lambda settings: prune_cache(settings, flags.max_size, flags.max_age)
    )
