"""`fabric router …`: read-only commands and simulations."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.commands.router import RouterFlags, report_routing
from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import format_examples


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
            help="Number of requests to simulate.",
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
            help="Print a diagram of the hostname, its weights and its endpoints.",
        ),
    ]
    out: Annotated[
        str,
        click.option("--out", default="", metavar="FILE", help="File to write the diagram to."),
    ]


@click.command(
    cls=GroupedCommand,
    name="dns-history",
    epilog=format_examples("""
fabric router dns-history
fabric router dns-history --stage prod --json
"""),
)
@pass_flags(RouterFlags)
def dns_history(flags: RouterFlags) -> int:
    """Show DNS changes and traffic weights, newest first."""
    from fabric.app.router.queries import report_dns_history as history

    return report_routing("dns-history", flags, history)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric router status
fabric router status --graph svg --out router.svg
"""),
)
@pass_flags(StatusFlags)
def status(flags: StatusFlags) -> int:
    """Show the hostname, its weights and its endpoints.

    Also shows whether DNS is in sync.
    """
    from fabric.app.router.queries import draw_endpoints
    from fabric.app.router.queries import report_router_status as router_status
    from fabric.cli.option_groups import reject_ineffective_options

    form = flags.graph
    if form is None:
        if flags.out:
            raise click.UsageError("--out requires --graph: use --graph svg or --graph html")
        return report_routing("status", flags.router, router_status)
    if flags.router.screen.as_json and not flags.out:
        reject_ineffective_options(("--graph",), "add --out FILE: --json cannot print a graph")
    return report_routing(
        "status",
        flags.router,
        lambda asked, settings: draw_endpoints(asked, settings, form, flags.out),
    )


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric router endpoints
fabric router endpoints --stage prod --json
"""),
)
@pass_flags(RouterFlags)
def endpoints(flags: RouterFlags) -> int:
    """Run a health check on each endpoint.

    Shows the result and the response time.
    """
    from fabric.app.router.queries import report_endpoints as router_endpoints

    return report_routing("endpoints", flags, router_endpoints)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric router simulate --requests 10000
fabric router simulate --requests 1000000 --json
"""),
)
@pass_flags(SimulateFlags)
def simulate(flags: SimulateFlags) -> int:
    """Simulate how requests are split, without network calls.

    Requests are split by weight. Results are reproducible.
    """
    from fabric.app.router.queries import simulate as simulated

    return report_routing(
        "simulate",
        flags.router,
        lambda asked, settings: simulated(asked, settings, flags.requests),
    )


@click.command(
    cls=GroupedCommand,
    name="chaos-verify",
    epilog=format_examples("""
fabric router chaos-verify
fabric router chaos-verify --stage prod --json
"""),
)
@pass_flags(RouterFlags)
def chaos_verify(flags: RouterFlags) -> int:
    """Simulate the failure of each endpoint, and of all endpoints."""
    from fabric.app.router.queries import verify_chaos as verify

    return report_routing("chaos-verify", flags, verify)
