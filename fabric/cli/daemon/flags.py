"""The options of both servers, as fields of frozen values."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from fabric.cli.complete import complete_names, complete_words
from fabric.cli.options import ScreenFlags

if TYPE_CHECKING:
    from fabric.cli.flags_of import Option

ACTIONS = ("start", "stop", "restart", "status")
_DAEMON_PORT, _CONFIG_API_PORT = 8766, 8765


def build_port_option(default: int) -> "Option":
    return click.option(
        "-p",
        "--port",
        type=click.IntRange(0, 65535),
        default=default,
        show_default=True,
        metavar="N",
        help="Port to listen on. 0 picks a free port.",
    )


class DoorFlags(Struct, frozen=True):
    """Access, rate limit and the permissions of received configs."""

    address: Annotated[
        str,
        click.option(
            "--address",
            default="0.0.0.0",  # noqa: S104 - the documented default
            show_default=True,
            metavar="ADDRESS",
            help="Address to listen on.",
        ),
    ]
    api_key: Annotated[
        str,
        click.option(
            "--api-key",
            default="",
            metavar="KEY",
            help="API key required in X-API-Key. Prefer --api-key-file or FABRIC_DAEMON_API_KEY.",
        ),
    ]
    api_key_file: Annotated[
        str,
        click.option(
            "--api-key-file",
            default="",
            metavar="FILE",
            help="File of accepted API keys, one per line. `read:<key>` is a read-only key.",
        ),
    ]
    rate_limit: Annotated[
        int,
        click.option(
            "--rate-limit",
            type=click.IntRange(0, 1_000_000),
            default=0,
            show_default=True,
            metavar="N",
            help="Maximum requests per minute and client address. 0 means no limit.",
        ),
    ]
    proxies: Annotated[
        tuple[str, ...],
        click.option(
            "--trusted-proxy",
            "proxies",
            multiple=True,
            metavar="CIDR",
            help="Trust X-Forwarded-For from this network. Can be repeated.",
        ),
    ]
    hosts: Annotated[
        tuple[str, ...],
        click.option(
            "--allowed-host",
            "hosts",
            multiple=True,
            metavar="NAME",
            help="Hostname of this server. Other Host headers are rejected. Can be repeated.",
        ),
    ]
    trust_bodies: Annotated[
        bool,
        click.option(
            "--trust-bodies",
            is_flag=True,
            help="Allow request configs to run commands and read files outside the workspace.",
        ),
    ]
    prefixes: Annotated[
        tuple[str, ...],
        click.option(
            "--resolve-env",
            "prefixes",
            multiple=True,
            metavar="PREFIX",
            help="Allow request configs to read variables with this prefix. Can be repeated.",
        ),
    ]


class ProjectFlags(Struct, frozen=True):
    """The server's own project."""

    config: Annotated[
        str,
        click.option(
            "-c",
            "--config",
            default="fabric.yml",
            show_default=True,
            metavar="FILE",
            help="Default config of requests, in the workspace.",
        ),
    ]
    workspace: Annotated[
        str,
        click.option(
            "--workspace",
            default="",
            metavar="DIR",
            help="Project directory. [default: current directory]",
        ),
    ]
    dashboard: Annotated[
        bool,
        click.option(
            "--dashboard", is_flag=True, help="Serve the dashboard at /. Requires a config."
        ),
    ]


class CacheFlags(Struct, frozen=True):
    """The location of the answer cache."""

    url: Annotated[
        str,
        click.option(
            "--cache-url",
            "url",
            default="",
            metavar="URL",
            help="Redis URL of the response cache. [env: FABRIC_DAEMON_CACHE_URL]",
        ),
    ]
    ttl: Annotated[
        str,
        click.option(
            "--cache-ttl",
            "ttl",
            default="5m",
            show_default=True,
            metavar="DURATION",
            help="Maximum age of cached responses, such as 90s or 5m. 0: each endpoint's default.",
        ),
    ]


def stage_option() -> "Option":
    return click.option(
        "-s",
        "--stage",
        default="",
        metavar="NAME",
        shell_complete=complete_names("stage"),
        help="Default stage of requests. [default: FABRIC_STAGE, otherwise dev]",
    )


class DaemonFlags(Struct, frozen=True):
    action: Annotated[
        str | None,
        click.argument(
            "action",
            required=False,
            metavar="[start|stop|restart|status]",
            shell_complete=complete_words(ACTIONS),
        ),
    ]
    port: Annotated[int, build_port_option(_DAEMON_PORT)]
    stage: Annotated[str, stage_option()]
    project: ProjectFlags
    door: DoorFlags
    cache: CacheFlags
    screen: ScreenFlags


class ConfigApiFlags(Struct, frozen=True):
    port: Annotated[int, build_port_option(_CONFIG_API_PORT)]
    stage: Annotated[str, stage_option()]
    door: DoorFlags
    screen: ScreenFlags
