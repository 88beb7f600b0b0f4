"""The options of local runs: HTTP request, server and dev loop."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.options import PlaceFlags, ScreenFlags, build_event_option, build_function_option

_PORT = 8787


class HttpFlags(Struct, frozen=True):
    """One HTTP request in options."""

    method: Annotated[
        str,
        click.option("--method", default="", metavar="METHOD", help="HTTP method of the request."),
    ]
    path: Annotated[
        str,
        click.option(
            "--path", default="", metavar="PATH", help="Path of the request, such as /items?id=7."
        ),
    ]
    query: Annotated[
        tuple[str, ...],
        click.option(
            "--query",
            multiple=True,
            metavar="NAME=VALUE",
            help="Query parameter of the request. Can be repeated.",
        ),
    ]
    header: Annotated[
        tuple[str, ...],
        click.option(
            "--header",
            multiple=True,
            metavar="'NAME: VALUE'",
            help="Header of the request. Can be repeated.",
        ),
    ]
    body: Annotated[
        str, click.option("--body", default="", metavar="TEXT", help="Body of the request.")
    ]

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
        bool,
        click.option("--serve", is_flag=True, help="Serve the routes of all functions over HTTP."),
    ]
    watch: Annotated[
        bool,
        click.option(
            "--watch", is_flag=True, help="With --serve: reload functions that an edit affects."
        ),
    ]
    port: Annotated[
        int | None,
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=None,
            metavar="N",
            help=f"With --serve: port on 127.0.0.1. 0 picks a free port. [default: {_PORT}]",
        ),
    ]
    instances: Annotated[
        int | None,
        click.option(
            "--instances",
            type=click.IntRange(1, 40),
            default=None,
            metavar="N",
            help="With --serve: maximum processes per function. [default: 4]",
        ),
    ]

    jwks: Annotated[
        str,
        click.option(
            "--jwks",
            default="",
            metavar="FILE",
            help="With --serve: public keys (JWKS) to check tokens of JWT authorizers.",
        ),
    ]

    @property
    def given(self) -> tuple[str, ...]:
        said = {
            "--watch": self.watch or None,
            "--port": self.port,
            "--instances": self.instances,
            "--jwks": self.jwks or None,
        }
        return tuple(name for name, value in said.items() if value is not None)


class LocalFlags(Struct, frozen=True):
    place: PlaceFlags
    function: Annotated[
        str, build_function_option("Function to invoke. With --serve, the only function to serve.")
    ]
    event: Annotated[
        str, build_event_option("Event file. With --serve, fields to merge into each event.")
    ]
    http: HttpFlags
    serving: ServeFlags
    screen: ScreenFlags


class DevFlags(Struct, frozen=True):
    place: PlaceFlags
    function: Annotated[str, build_function_option("Only this function.")]
    preset: Annotated[
        str,
        click.option(
            "--preset",
            default="",
            metavar="KIND",
            help="Sample event: http, queue, storage, cron, ... [default: the function's "
            "first trigger]",
        ),
    ]
    watch: Annotated[
        bool,
        click.option("--watch", is_flag=True, help="Rebuild and invoke again after each edit."),
    ]
    once: Annotated[bool, click.option("--once", is_flag=True, help="Invoke once, then exit.")]
    screen: ScreenFlags
