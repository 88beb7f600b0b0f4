"""`fabric cache`: statistics, verification, pruning."""

from typing import Any

import click

from fabric.cli.group import Group
from fabric.cli.options import common_options, examples


@click.group(cls=Group, epilog=examples("fabric cache stats\nfabric cache prune --max-size 500M"))
def cache() -> None:
    """Keep house with the cache. Everything in it can be made again."""


@cache.command(epilog=examples("fabric cache stats\nfabric cache stats --json"))
@common_options
def stats(**options: Any) -> int:
    """Tell where the cache lies and how big it is."""
    from fabric.app.cache import stats as cache_stats

    return _finished(cache_stats, **options)


@cache.command(epilog=examples("fabric cache verify\nfabric cache verify --json"))
@common_options
def verify(**options: Any) -> int:
    """Read all that is kept and drop what is damaged."""
    from fabric.app.cache import verify as verify_cache

    return _finished(verify_cache, **options)


@cache.command(
    epilog=examples("fabric cache prune --max-size 500M\nfabric cache prune --max-age 30d")
)
@click.option("--max-size", default="5G", show_default=True, metavar="SIZE", help="Keep at most.")
@click.option(
    "--max-age", default="", metavar="DURATION", help="Drop what is older: 90s, 2m, 1h, 30d."
)
@common_options
def prune(max_size: str, max_age: str, **options: Any) -> int:
    """Drop the outputs that were unused for longest."""
    from fabric.app.cache import prune as prune_cache

    return _finished(lambda settings: prune_cache(settings, max_size, max_age), **options)


def _finished(use_case: Any, **options: Any) -> int:
    from fabric.app.settings import read_settings
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    return screen.finish(use_case(settings))
