"""`fabric router …`: what is looked at, and what is only worked out."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.commands.router import RouterFlags, shown
from fabric.cli.flags_of import flags_of
from fabric.cli.options import examples


class SimulateFlags(Struct, frozen=True):
    router: RouterFlags
    requests: Annotated[
        int,
        click.option(
            "--requests",
            type=click.IntRange(min=0, max=10**12),
            default=1000,
            show_default=True,
            metavar="N",
            help="How many requests.",
        ),
    ]


class StatusFlags(Struct, frozen=True):
    router: RouterFlags
    graph: Annotated[
        str | None,
        click.option(
            "--graph",
            type=click.Choice(["svg", "html"]),
            default=None,
            help="Draw the name, its shares and its endpoints.",
        ),
    ]
    out: Annotated[
        str,
        click.option("--out", default="", metavar="FILE", help="Where the picture is written."),
    ]


@click.command(
    name="dns-history",
    epilog=examples("""
fabric router dns-history
fabric router dns-history --stage prod --json
"""),
)
@flags_of(RouterFlags)
def dns_history(flags: RouterFlags) -> int:
    """Show what was done to the name: the last operation, and how the shares went."""
    from fabric.app.router.look import dns_history as history

    return shown("dns-history", flags, history)


@click.command(
    epilog=examples("""
fabric router status
fabric router status --graph svg --out router.svg
""")
)
@flags_of(StatusFlags)
def status(flags: StatusFlags) -> int:
    """Show the name, its shares, its endpoints, and whether the back end has it so."""
    from fabric.app.router.look import picture
    from fabric.app.router.look import status as router_status
    from fabric.cli.useless import refuse_useless

    form = flags.graph
    if form is None:
        if flags.out:
            raise click.UsageError("--out requires --graph svg or --graph html")
        return shown("status", flags.router, router_status)
    if flags.router.screen.as_json and not flags.out:
        refuse_useless(("--graph",), "add --out FILE: --json prints one JSON document")
    return shown(
        "status",
        flags.router,
        lambda asked, settings: picture(asked, settings, form, flags.out),
    )


@click.command(
    epilog=examples("""
fabric router endpoints
fabric router endpoints --stage prod --json
""")
)
@flags_of(RouterFlags)
def endpoints(flags: RouterFlags) -> int:
    """Ask each endpoint how it is, and how long it takes to answer."""
    from fabric.app.router.look import endpoints as router_endpoints

    return shown("endpoints", flags, router_endpoints)


@click.command(
    epilog=examples("""
fabric router simulate --requests 10000
fabric router simulate --requests 1000000 --json
""")
)
@flags_of(SimulateFlags)
def simulate(flags: SimulateFlags) -> int:
    """Spread requests by weight, without a call: it comes out equal each time."""
    from fabric.app.router.look import simulate as simulated

    return shown(
        "simulate",
        flags.router,
        lambda asked, settings: simulated(asked, settings, flags.requests),
    )


@click.command(
    name="chaos-verify",
    epilog=examples("""
fabric router chaos-verify
fabric router chaos-verify --stage prod --json
"""),
)
@flags_of(RouterFlags)
def chaos_verify(flags: RouterFlags) -> int:
    """Tell what happens to requests when each endpoint is down, and when all are."""
    from fabric.app.router.look import chaos_verify as verify

    return shown("chaos-verify", flags, verify)
