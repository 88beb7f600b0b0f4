"""The options of local runs: one http request, what is served, and the dev loop."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.options import PlaceFlags, ScreenFlags, event_file, one_function

_PORT = 8787


class HttpFlags(Struct, frozen=True):
    """One http request, as it is said on a command line."""

    method: Annotated[
        str, click.option("--method", default="", metavar="METHOD", help="Of an http request.")
    ]
    path: Annotated[
        str,
        click.option("--path", default="", metavar="PATH", help="Of an http request: /items?id=7."),
    ]
    query: Annotated[
        tuple[str, ...],
        click.option(
            "--query", multiple=True, metavar="NAME=VALUE", help="In its query (may be repeated)."
        ),
    ]
    header: Annotated[
        tuple[str, ...],
        click.option(
            "--header", multiple=True, metavar="'NAME: VALUE'", help="A header (may be repeated)."
        ),
    ]
    body: Annotated[str, click.option("--body", default="", metavar="TEXT", help="Its body.")]

    @property
    def given(self) -> tuple[str, ...]:
        said = {
            "--method": self.method,
            "--path": self.path,
            "--query": self.query,
            "--header": self.header,
            "--body": self.body,
        }
        return tuple(name for name, value in said.items() if value)


class ServeFlags(Struct, frozen=True):
    serve: Annotated[
        bool, click.option("--serve", is_flag=True, help="Serve the routes of all functions.")
    ]
    watch: Annotated[
        bool,
        click.option("--watch", is_flag=True, help="With --serve: reload what an edit reaches."),
    ]
    port: Annotated[
        int | None,
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=None,
            metavar="N",
            help=f"With --serve: the port on 127.0.0.1, 0 for any ({_PORT}).",
        ),
    ]
    instances: Annotated[
        int | None,
        click.option(
            "--instances",
            type=click.IntRange(1, 40),
            default=None,
            metavar="N",
            help="With --serve: how many children one function may have (4).",
        ),
    ]

    @property
    def given(self) -> tuple[str, ...]:
        said = {"--watch": self.watch or None, "--port": self.port, "--instances": self.instances}
        return tuple(name for name, value in said.items() if value is not None)


class LocalFlags(Struct, frozen=True):
    place: PlaceFlags
    function: Annotated[str, one_function("The function to call; to serve, only this one.")]
    event: Annotated[
        str, event_file("The event; with --serve, what those of requests are laid over.")
    ]
    http: HttpFlags
    serving: ServeFlags
    screen: ScreenFlags


class DevFlags(Struct, frozen=True):
    place: PlaceFlags
    function: Annotated[str, one_function("Only this function.")]
    preset: Annotated[
        str,
        click.option(
            "--preset",
            default="",
            metavar="KIND",
            help="The sample event: http, queue, storage, cron, eventbus, pubsub, logstream, amqp "
            "(default: each function's own first trigger).",
        ),
    ]
    watch: Annotated[
        bool, click.option("--watch", is_flag=True, help="Build and call again after each edit.")
    ]
    once: Annotated[bool, click.option("--once", is_flag=True, help="Call once, and end.")]
    screen: ScreenFlags
