"""The options of `invoke dev`."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from fabric.cli.complete import complete_names
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
            shell_complete=complete_names("stage"),
            help="Deployed stage whose requests are served locally.",
        ),
    ]
    tunnel_url: Annotated[
        str,
        click.option(
            "--tunnel-url",
            default="",
            metavar="URL",
            help="Public URL of a tunnel to the local port.",
        ),
    ]
    port: Annotated[
        int | None,
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=None,
            metavar="N",
            help=f"Local port on 127.0.0.1. [default: {_PORT}]",
        ),
    ]
    allow_prod: Annotated[
        bool, click.option("--allow-prod", is_flag=True, help="Allow production stages.")
    ]
    restore: Annotated[
        bool,
        click.option(
            "--restore", is_flag=True, help="Only restore routes left by an interrupted run."
        ),
    ]
    provider: Provider
    params: Params
    lock_timeout: LockTimeout
    screen: ScreenFlags

    @property
    def where(self) -> "Where":
        from fabric.app.request import Where, parse_params

        return Where(
            self.config,
            stage=self.stream_from,
            provider=self.provider,
            params=parse_params(self.params),
        )

    @property
    def port_here(self) -> int:
        return _PORT if self.port is None else self.port

    @property
    def of_serving(self) -> tuple[str, ...]:
        """Return the given options that `--restore` does not use."""
        said = {
            "--tunnel-url": self.tunnel_url or None,
            "--port": self.port,
            "--allow-prod": self.allow_prod or None,
        }
        return tuple(name for name, value in said.items() if value is not None)
