"""The options of `invoke dev`."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from fabric.cli.complete import names_of
from fabric.cli.options import (
    ConfigFile,
    LockTimeout,
    Params,
    Provider,
    ScreenFlags,
)

if TYPE_CHECKING:
    from fabric.app.request import Where

_PORT = 8787


class StreamFlags(Struct, frozen=True):
    config: ConfigFile
    stream_from: Annotated[
        str,
        click.option(
            "--stream-from",
            required=True,
            metavar="STAGE",
            shell_complete=names_of("stage"),
            help="The deployed stage whose requests are to be answered here.",
        ),
    ]
    tunnel_url: Annotated[
        str,
        click.option(
            "--tunnel-url",
            default="",
            metavar="URL",
            help="The address of a tunnel that leads to the port here.",
        ),
    ]
    port: Annotated[
        int | None,
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=None,
            metavar="N",
            help=f"The port on 127.0.0.1 ({_PORT}).",
        ),
    ]
    allow_prod: Annotated[
        bool, click.option("--allow-prod", is_flag=True, help="Also a stage of production.")
    ]
    restore: Annotated[
        bool,
        click.option(
            "--restore", is_flag=True, help="Only put back what a killed run has left turned."
        ),
    ]
    provider: Provider
    params: Params
    lock_timeout: LockTimeout
    screen: ScreenFlags

    @property
    def where(self) -> "Where":
        from fabric.app.request import Where, params_of

        return Where(
            self.config,
            stage=self.stream_from,
            provider=self.provider,
            params=params_of(self.params),
        )

    @property
    def port_here(self) -> int:
        return _PORT if self.port is None else self.port

    @property
    def of_serving(self) -> tuple[str, ...]:
        """Options that are given, and are for more than --restore."""
        said = {
            "--tunnel-url": self.tunnel_url or None,
            "--port": self.port,
            "--allow-prod": self.allow_prod or None,
        }
        return tuple(name for name, value in said.items() if value is not None)
