"""The options of commands that run tasks."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import click
from msgspec import Struct

from fabric.cli.options import Events, Yes

if TYPE_CHECKING:
    from fabric.cli.flags_of import Option


def _check_concurrency(_context: click.Context, _option: click.Parameter, said: str) -> str:
    """Check the concurrency. An invalid number is an error even if nothing runs."""
    from fabric.app.request import parse_caps

    parse_caps(said, cores=1)
    return said


def build_concurrency_option(what: str) -> "Option":
    """Build the `--concurrency` option for the given noun."""
    return click.option(
        "--concurrency",
        default="16",
        show_default=True,
        metavar="N",
        callback=_check_concurrency,
        help=f"{what} in parallel: a number, or a percentage of CPU cores such as 50%.",
    )


ConcurrencyOption: TypeAlias = Annotated[str, build_concurrency_option("Tasks")]
_FailFast: TypeAlias = Annotated[
    bool,
    click.option("--fail-fast", is_flag=True, help="Do not start tasks after the first failure."),
]
_Logs: TypeAlias = Annotated[
    str,
    click.option(
        "--output-logs",
        "logs",
        type=click.Choice(["full", "errors-only", "none"]),
        default="full",
        show_default=True,
        help="Task output to show while tasks run. Errors are always shown at the end.",
    ),
]


Otlp: TypeAlias = Annotated[
    str,
    click.option(
        "--otlp",
        default="",
        metavar="URL",
        help="Send the run as a trace to this OpenTelemetry collector (OTLP over HTTP).",
    ),
]


Caches: TypeAlias = Annotated[
    str,
    click.option(
        "--cache",
        default="",
        metavar="MODES",
        help="Caches to read and write, such as local:rw,remote:r. [env: FABRIC_CACHE]",
    ),
]


Executor: TypeAlias = Annotated[
    str,
    click.option(
        "--executor",
        default="",
        metavar="dask://HOST:PORT",
        help="Build on the workers of this Dask cluster.",
    ),
]


class SharingFlags(Struct, frozen=True):
    """The use of the shared cache."""

    cache: Caches
    upload_wait: Annotated[
        str,
        click.option(
            "--remote-cache-upload-wait",
            "upload_wait",
            default="",
            metavar="DURATION",
            help="How long to wait for cache uploads after the run. [default: 10s, in CI 60s]",
        ),
    ]


class RemovalFlags(Struct, frozen=True):
    """How removals run, and whether they ask first."""

    yes: Yes
    with_stack: Annotated[
        bool,
        click.option(
            "--with-stack",
            is_flag=True,
            help="Also delete CloudFormation stacks with `onRemove: keep`, and their data.",
        ),
    ]
    concurrency: ConcurrencyOption
    fail_fast: _FailFast
    events: Events
    otlp: Otlp
    logs: _Logs


class OutputFlags(Struct, frozen=True):
    """The outputs of a run."""

    out: Annotated[
        str,
        click.option(
            "--out", default="", metavar="DIR", help="Also copy the artifacts to this directory."
        ),
    ]
    events: Events
    profile: Annotated[
        str,
        click.option(
            "--profile",
            default="",
            metavar="FILE",
            help="Write a trace of the run for chrome://tracing.",
        ),
    ]
    otlp: Otlp
    logs: _Logs
    junit: Annotated[
        str,
        click.option(
            "--junit",
            default="",
            metavar="FILE",
            help="Write a JUnit XML report with one case per task.",
        ),
    ]


class RunFlags(Struct, frozen=True):
    """How tasks are run, and the outputs of the run."""

    concurrency: ConcurrencyOption
    no_cache: Annotated[
        bool,
        click.option("--no-cache", is_flag=True, help="Run every task, and ignore cached results."),
    ]
    sharing: SharingFlags
    executor: Executor
    fail_fast: _FailFast
    strict: Annotated[
        bool,
        click.option(
            "--strict",
            is_flag=True,
            help="Fail if a Python import cannot be resolved.",
        ),
    ]
    outputs: OutputFlags

    @property
    def is_plain(self) -> bool:
        """Return whether the answer is the only output and can come from the cache."""
        return not (
            self.no_cache
            or self.outputs.events
            or self.outputs.profile
            or self.outputs.junit
            or self.outputs.otlp
        )
