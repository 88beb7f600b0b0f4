"""`fabric build` and `fabric package`: options to a request, a request to the engine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fabric.cli.options import (
    common_options,
    examples,
    function_option,
    place_options,
    run_options,
)

if TYPE_CHECKING:
    from fabric.model.report import Report


@click.command(
    epilog=examples("""
fabric build                              build what changed
fabric build --function hello --no-cache  build one function from scratch
""")
)
@place_options
@function_option
@run_options
@common_options
def build(**options: Any) -> int:
    """Build the functions.

    Each function becomes a folder below .fabric/build. A function whose inputs did not change is
    not built again, and its files are put back if they were changed or deleted.
    """
    return run_verb("build", "build", **options)


@click.command(
    epilog=examples("""
fabric package                    one reproducible archive for each function
fabric package --out dist --json  copy the archives to dist, print their digests
""")
)
@place_options
@function_option
@run_options
@common_options
def package(**options: Any) -> int:
    """Package the functions.

    Builds what is needed, fetches pinned third-party packages, and writes one archive for each
    function to .fabric/build. Equal inputs give equal bytes, on any machine.
    """
    return run_verb("package", "package", **options)


def run_verb(verb: str, command: str, **options: Any) -> int:
    """One verb for one service or a compose file; the options say which."""
    from fabric.app.build import build as build_services
    from fabric.app.selection import run_chosen
    from fabric.app.settings import read_settings
    from fabric.cli.progress.listeners import ListenerOptions, listeners
    from fabric.cli.progress.log_lines import Logs
    from fabric.cli.report_files import kept, wants_details
    from fabric.cli.screen import Screen

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    outlets = ListenerOptions(options["events"], options["profile"], Logs(options["logs"]))
    detailed = wants_details(settings, options["junit"])
    request = request_of(verb, command, detailed=detailed, **options)
    command_line = screen.command_line() if is_plain(options) else None
    heard = listeners(screen, settings, outlets)

    def make() -> "Report":
        return run_chosen(
            request, settings, lambda one: build_services(one, settings, heard, command_line)
        )

    return screen.finish(kept(command, settings, make, options["junit"]))


def is_plain(options: Mapping[str, Any]) -> bool:
    """Whether the answer hangs on nothing but the project, its state and the environment.

    What git says lies in none of the files that a stored answer is checked against.
    """
    return not any(options.get(name) for name in _BESIDES)


_BESIDES = ("events", "profile", "junit", "no_cache", "force", "plan", "affected")


def request_of(verb: str, command: str, **options: Any) -> Any:
    from fabric.app.request import Request, ServiceChoice, Where
    from fabric.model.names import Verb

    where = Where(
        config=options.get("config", ""),
        compose=options.get("compose", ""),
        stage=options["stage"],
        provider=options.get("provider", ""),
        services=tuple(options.get("services", ())),
        choice=ServiceChoice(
            options.get("with_dependents", False),
            options.get("with_dependencies", False),
            options.get("affected", False),
            options.get("base", ""),
        ),
    )
    return Request(
        verb=Verb(verb),
        command=command,
        where=where,
        functions=frozenset(options.get("functions", ())),
        concurrency=options.get("concurrency", "16"),
        use_cache=not options.get("no_cache", False),
        fail_fast=options.get("fail_fast", False),
        out=options.get("out", ""),
        profiled=bool(options.get("profile")),
        detailed=options.get("detailed", False),
    )
