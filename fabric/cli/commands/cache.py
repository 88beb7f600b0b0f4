"""`fabric cache`: statistics, verification, pruning, and the shared cache."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import Group
from fabric.cli.options import ScreenFlags, format_examples
from fabric.cli.run_options import Caches


class PruneFlags(Struct, frozen=True):
    max_size: Annotated[
        str,
        click.option(
            "--max-size",
            default="5G",
            show_default=True,
            metavar="SIZE",
            help="Maximum total size to keep, such as 500M or 5G.",
        ),
    ]
    max_age: Annotated[
        str,
        click.option(
            "--max-age",
            default="",
            metavar="DURATION",
            help="Delete entries older than this: 90s, 2m, 1h, 30d.",
        ),
    ]
    screen: ScreenFlags


class CacheStatusFlags(Struct, frozen=True):
    cache: Caches
    screen: ScreenFlags


@click.group(
    cls=Group, epilog=format_examples("fabric cache stats\nfabric cache prune --max-size 500M")
)
def cache() -> None:
    """Inspect and clean the cache. Safe to delete at any time."""


@cache.command(epilog=format_examples("fabric cache stats\nfabric cache stats --json"))
@pass_flags(ScreenFlags)
def stats(screen: ScreenFlags) -> int:
    """Show the location and size of the cache."""
    from fabric.app.cache import read_cache_stats as cache_stats
    from fabric.cli.answer import answer

    return answer(screen, cache_stats)


@cache.command(
    epilog=format_examples("fabric cache status\nfabric cache status --cache remote:rw --json")
)
@pass_flags(CacheStatusFlags)
def status(flags: CacheStatusFlags) -> int:
    """Check the shared cache.

    Shows its location, whether this machine can read and write, and its entries for the current
    commit and its branches. With write access, a small and a large test object are stored.
    """
    from fabric.app.caching.shared_status import report_shared_status as shared_status
    from fabric.cli.answer import answer

    return answer(flags.screen, lambda settings: shared_status(settings, flags.cache))


@cache.command(
    epilog=format_examples(
        """
fabric cache key                 print a key for FABRIC_REMOTE_CACHE_KEY
fabric cache key --json          print the key as JSON
"""
    )
)
@pass_flags(ScreenFlags)
def key(screen: ScreenFlags) -> int:
    """Generate a key for a shared cache.

    The key is printed and not stored.
    """
    from fabric.app.caching.shared_status import generate_cache_key
    from fabric.cli.answer import answer

    return answer(screen, generate_cache_key)


@cache.command(epilog=format_examples("fabric cache verify\nfabric cache verify --json"))
@pass_flags(ScreenFlags)
def verify(screen: ScreenFlags) -> int:
    """Verify all cache entries and delete damaged ones."""
    from fabric.app.cache import verify as verify_cache
    from fabric.cli.answer import answer

    return answer(screen, verify_cache)


@cache.command(
    epilog=format_examples("fabric cache prune --max-size 500M\nfabric cache prune --max-age 30d")
)
@pass_flags(PruneFlags)
def prune(flags: PruneFlags) -> int:
    """Delete the least recently used cache entries."""
    from fabric.app.cache import prune as prune_cache
    from fabric.cli.answer import answer

    return answer(
        flags.screen, lambda settings: prune_cache(settings, flags.max_size, flags.max_age)
    )
