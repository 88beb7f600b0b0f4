"""The options of both servers, as fields of frozen values."""

from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from fabric.cli.complete import names_of, one_of
from fabric.cli.options import ScreenFlags

if TYPE_CHECKING:
    from fabric.cli.flags_of import Option

ACTIONS = ("start", "stop", "restart", "status")
_DAEMON_PORT, _CONFIG_API_PORT = 8766, 8765


def port_option(default: int) -> "Option":
    return click.option(
        "-p",
        "--port",
        type=click.IntRange(0, 65535),
        default=default,
        show_default=True,
        metavar="N",
        help="Listen port; 0 is any that is free.",
    )


class DoorFlags(Struct, frozen=True):
    """Who may come in, how often, and what a config in a request may do."""

    address: Annotated[
        str,
        click.option(
            "--address",
            default="0.0.0.0",  # noqa: S104 - the documented default
            show_default=True,
            metavar="ADDRESS",
            help="Listen address.",
        ),
    ]
    api_key: Annotated[
        str,
        click.option(
            "--api-key",
            default="",
            metavar="KEY",
            help="Ask for this key in X-API-Key (better: --api-key-file, or the variable "
            "FABRIC_DAEMON_API_KEY: a command line is read by all users of the machine).",
        ),
    ]
    api_key_file: Annotated[
        str,
        click.option(
            "--api-key-file",
            default="",
            metavar="FILE",
            help="Ask for one of these keys, one a line; `read:<key>` may look and not change.",
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
            help="Requests a minute for each client address; 0 is no limit.",
        ),
    ]
    proxies: Annotated[
        tuple[str, ...],
        click.option(
            "--trusted-proxy",
            "proxies",
            multiple=True,
            metavar="CIDR",
            help="Believe X-Forwarded-For from here (may be given again).",
        ),
    ]
    hosts: Annotated[
        tuple[str, ...],
        click.option(
            "--allowed-host",
            "hosts",
            multiple=True,
            metavar="NAME",
            help="A name that this server goes by; beyond loopback others are refused then "
            "(may be given again).",
        ),
    ]
    trust_bodies: Annotated[
        bool,
        click.option(
            "--trust-bodies",
            is_flag=True,
            help="Configs in requests may run commands and read outside of the workspace.",
        ),
    ]
    prefixes: Annotated[
        tuple[str, ...],
        click.option(
            "--resolve-env",
            "prefixes",
            multiple=True,
            metavar="PREFIX",
            help="Let configs in requests read variables with this prefix. Can be repeated.",
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
            help="The config of requests without one, in the workspace.",
        ),
    ]
    workspace: Annotated[
        str,
        click.option(
            "--workspace",
            default="",
            metavar="DIR",
            help="The project's folder (default: this one).",
        ),
    ]
    dashboard: Annotated[
        bool,
        click.option("--dashboard", is_flag=True, help="Serve a page at /; needs the config."),
    ]


class CacheFlags(Struct, frozen=True):
    """Where answers are kept."""

    url: Annotated[
        str,
        click.option(
            "--cache-url",
            "url",
            default="",
            metavar="URL",
            help="Keep answers there: redis://host:port, or rediss:// (FABRIC_DAEMON_CACHE_URL).",
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
            help="For so long at most: 90s, 5m; 0 is each endpoint's own time.",
        ),
    ]


def stage_option() -> "Option":
    return click.option(
        "-s",
        "--stage",
        default="",
        metavar="NAME",
        shell_complete=names_of("stage"),
        help="The stage of requests that name none (FABRIC_STAGE, else dev).",
    )


class DaemonFlags(Struct, frozen=True):
    action: Annotated[
        str | None,
        click.argument(
            "action",
            required=False,
            metavar="[start|stop|restart|status]",
            shell_complete=one_of(ACTIONS),
        ),
    ]
    port: Annotated[int, port_option(_DAEMON_PORT)]
    stage: Annotated[str, stage_option()]
    project: ProjectFlags
    door: DoorFlags
    cache: CacheFlags
    screen: ScreenFlags


class ConfigApiFlags(Struct, frozen=True):
    port: Annotated[int, port_option(_CONFIG_API_PORT)]
    stage: Annotated[str, stage_option()]
    door: DoorFlags
    screen: ScreenFlags
