"""The options that many commands share, as fields of frozen values."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import click
from msgspec import Struct

from fabric.cli.complete import complete_names

if TYPE_CHECKING:
    from fabric.app.request import Where
    from fabric.cli.flags_of import Option

Yes: TypeAlias = Annotated[
    bool, click.option("--yes", "-y", is_flag=True, help="Do not prompt for confirmation.")
]
LockTimeout: TypeAlias = Annotated[
    str,
    click.option(
        "--lock-timeout",
        default="0",
        show_default=True,
        metavar="DURATION",
        help="How long to wait for a lock, such as 30s or 2m.",
    ),
]
CONFIG_DEFAULT = "fabric.yml"
COMPOSE_DEFAULT = "fabric.compose.yml"
ConfigFile: TypeAlias = Annotated[
    str,
    click.option(
        "-c",
        "--config",
        default=CONFIG_DEFAULT,
        show_default=True,
        metavar="FILE",
        help="Config file, or the directory that contains it.",
    ),
]
ComposeFile: TypeAlias = Annotated[
    str,
    click.option(
        "-f",
        "--file",
        "compose",
        default=COMPOSE_DEFAULT,
        show_default=True,
        metavar="FILE",
        help="Compose file, or the directory that contains it.",
    ),
]


def build_compose_option(what: str) -> "Option":
    """Build the `--file` option of a command that otherwise reads one config."""
    return click.option("-f", "--file", "compose", default="", metavar="FILE", help=what)


Services: TypeAlias = Annotated[
    tuple[str, ...],
    click.option(
        "--service",
        "services",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_names("service"),
        help="Only this service. Can be repeated.",
    ),
]
RollbackOnFailure: TypeAlias = Annotated[
    bool | None,
    click.option(
        "--rollback-on-failure/--no-rollback-on-failure",
        "rollback",
        default=None,
        help="Roll back if anything fails. [env: FABRIC_ROLLBACK_ON_FAILURE]",
    ),
]
Functions: TypeAlias = Annotated[
    tuple[str, ...],
    click.option(
        "--function",
        "functions",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_names("function"),
        help="Only this function. Can be repeated.",
    ),
]


def build_function_option(what: str) -> "Option":
    """Build the `--function` option for one function."""
    return click.option(
        "--function",
        default="",
        metavar="NAME",
        shell_complete=complete_names("function"),
        help=what,
    )


def build_event_option(what: str) -> "Option":
    """Build the `--event` option."""
    return click.option("--event", default="", metavar="FILE", help=what)


Stage: TypeAlias = Annotated[
    str,
    click.option(
        "--stage",
        default="",
        metavar="NAME",
        shell_complete=complete_names("stage"),
        help="Stage. [default: FABRIC_STAGE, otherwise dev]",
    ),
]
Provider: TypeAlias = Annotated[
    str,
    click.option(
        "--provider",
        default="",
        metavar="ID",
        shell_complete=complete_names("provider"),
        help="Provider ID or label from `providerOverrides`.",
    ),
]
Params: TypeAlias = Annotated[
    tuple[str, ...],
    click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="Value for ${param:NAME}. Can be repeated.",
    ),
]
Events: TypeAlias = Annotated[
    str,
    click.option(
        "--events", default="", metavar="FILE", help="Write the events of the run as NDJSON."
    ),
]


class ScreenFlags(Struct, frozen=True):
    """How the answer is shown."""

    as_json: Annotated[
        bool,
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout."),
    ]
    color: Annotated[
        str,
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            help="When to use color.",
        ),
    ]


class PlaceFlags(Struct, frozen=True):
    """Which service, stage and provider."""

    config: ConfigFile
    stage: Stage
    provider: Provider
    params: Params

    @property
    def where(self) -> "Where":
        from fabric.app.request import Where, parse_params

        return Where(
            self.config, stage=self.stage, provider=self.provider, params=parse_params(self.params)
        )


class FunctionFlags(Struct, frozen=True):
    """Which functions of one service."""

    place: PlaceFlags
    functions: Functions

    @property
    def where(self) -> "Where":
        return self.place.where

    @property
    def is_plain(self) -> bool:
        return True


class ComposeFlags(Struct, frozen=True):
    """Which services of a compose file."""

    compose: ComposeFile
    services: Services
    with_dependents: Annotated[
        bool,
        click.option(
            "--with-dependents",
            is_flag=True,
            help="Include services that depend on the selected ones.",
        ),
    ]
    with_dependencies: Annotated[
        bool,
        click.option(
            "--with-dependencies",
            is_flag=True,
            help="Include services that the selected ones depend on.",
        ),
    ]
    affected: Annotated[
        bool,
        click.option(
            "--affected",
            is_flag=True,
            help="Only services that changed since --base in Git, and their dependents.",
        ),
    ]
    base: Annotated[
        str,
        click.option(
            "--base",
            default="",
            metavar="REF",
            help="Git ref to compare with. [default: origin/HEAD, origin/main, main]",
        ),
    ]
    stage: Stage
    params: Params

    @property
    def where(self) -> "Where":
        from fabric.app.request import ServiceChoice, Where, parse_params

        choice = ServiceChoice(
            self.with_dependents, self.with_dependencies, self.affected, self.base
        )
        return Where(
            "",
            self.compose,
            self.stage,
            services=self.services,
            choice=choice,
            params=parse_params(self.params),
        )

    @property
    def functions(self) -> tuple[str, ...]:
        """Return all functions of these services."""
        return ()

    @property
    def is_plain(self) -> bool:
        """Return whether a stored answer can be used. Git queries depend on unwatched files."""
        return not self.affected


class LiveFlags(Struct, frozen=True):
    """How a deploy handles deployed functions."""

    force: Annotated[
        bool, click.option("--force", is_flag=True, help="Redeploy functions that are up to date.")
    ]
    rollback: RollbackOnFailure
    plan: Annotated[
        str,
        click.option(
            "--plan",
            default="",
            metavar="FILE",
            help="Deploy this saved plan. Fail if anything changed since.",
        ),
    ]
    preview: Annotated[
        str,
        click.option(
            "--preview", default="", metavar="NAME", help="Deploy to an isolated preview stage."
        ),
    ]
    expires: Annotated[
        str,
        click.option(
            "--expires",
            default="",
            metavar="DURATION",
            help="When `fabric sweep` can remove the stage, such as 3d. `never` clears it.",
        ),
    ]

    @property
    def is_plain(self) -> bool:
        return not (self.force or self.plan or self.expires)


class SourceFlags(Struct, frozen=True):
    """The options of a remote project."""

    source: Annotated[
        str,
        click.option(
            "--source",
            default="",
            metavar="URL",
            help="Download the project from this .zip, .tar.gz or .tgz URL. Prefer https.",
        ),
    ]
    source_sha256: Annotated[
        str,
        click.option(
            "--source-sha256",
            default="",
            metavar="HEX",
            help="Expected SHA-256 hash of the --source archive.",
        ),
    ]


def format_examples(text: str) -> str:
    """Format an epilog that click leaves unchanged."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in text.strip().splitlines())
