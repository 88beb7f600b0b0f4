"""The options that many commands share, and what they come to."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def common_options(command: F) -> F:
    for option in reversed(_COMMON):
        command = option(command)
    return command


def place_options(command: F) -> F:
    """Which service, stage and provider."""
    for option in reversed(_PLACE):
        command = option(command)
    return command


def run_options(command: F) -> F:
    """How tasks are run, and where their story goes."""
    for option in reversed(_RUN):
        command = option(command)
    return command


def deploy_options(command: F) -> F:
    """How a deploy treats what is live."""
    for option in reversed(_DEPLOY):
        command = option(command)
    return command


def source_options(command: F) -> F:
    """A project that lies somewhere else."""
    for option in reversed(_SOURCE):
        command = option(command)
    return command


def removal_options(command: F) -> F:
    """How removals run, and whether they ask first."""
    for option in reversed(_REMOVAL):
        command = option(command)
    return command


def selection_options(command: F) -> F:
    """Which services of a compose file."""
    for option in reversed(_SELECTION):
        command = option(command)
    return command


yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask first.")
lock_timeout_option = click.option(
    "--lock-timeout", default="0", show_default=True, metavar="DURATION",
    help="Wait so long for a lock that somebody holds: 90, 30s, 2m, 1h.",
)  # fmt: skip
compose_file = click.option(
    "-f", "--file", "compose", default="fabric.compose.yml", show_default=True,
    metavar="FILE", help="The compose file, or the folder that holds it.",
)  # fmt: skip
_SELECTION = (
    click.option(
        "--service",
        "services",
        multiple=True,
        metavar="NAME",
        help="Only this service (may be given again).",
    ),
    click.option("--with-dependents", is_flag=True, help="Also the services that depend on them."),
    click.option("--with-dependencies", is_flag=True, help="Also the services they depend on."),
    click.option(
        "--affected",
        is_flag=True,
        help="Only services whose inputs changed, by git, and their dependents.",
    ),
    click.option(
        "--base",
        default="",
        metavar="REF",
        help="Changed since the branch left this commit (default: origin/HEAD, origin/main, main).",
    ),
)
function_option = click.option(
    "--function", "functions", multiple=True, metavar="NAME",
    help="Only this function (may be given again).",
)  # fmt: skip
stage_option = click.option(
    "--stage", default="", metavar="NAME", help="The stage (FABRIC_STAGE, else dev)."
)

provider_option = click.option(
    "--provider", default="", metavar="ID", help="A provider id or override label."
)

_COMMON = (
    click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout."),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="When to use colour.",
    ),  # fmt: skip
)
_PLACE = (
    click.option(
        "-c",
        "--config",
        default="fabric.yml",
        show_default=True,
        metavar="FILE",
        help="The config file, or the folder that holds it.",
    ),  # fmt: skip
    stage_option,
    provider_option,
)
_DEPLOY = (
    click.option("--force", is_flag=True, help="Deploy what is up to date as well."),
    click.option(
        "--rollback-on-failure/--no-rollback-on-failure",
        "rollback",
        default=None,
        help="Take everything back to what was live if anything fails.",
    ),  # fmt: skip
    click.option(
        "--plan",
        default="",
        metavar="FILE",
        help="Only if a saved plan (plan --out) still fits: else say what moved.",
    ),  # fmt: skip
    click.option("--preview", default="", metavar="NAME", help="Deploy to this isolated stage."),
)


def _tasks_at_once(_context: click.Context, _option: click.Parameter, said: str) -> str:
    """A bad number is a slip even where nothing is to be done, so that nobody would use it."""
    from fabric.app.request import caps_of

    caps_of(said, cores=1)
    return said


_CONCURRENCY = click.option(
    "--concurrency",
    default="16",
    show_default=True,
    metavar="N",
    callback=_tasks_at_once,
    help="Tasks at once: a number, or a percentage of the cores such as 50%.",
)
_FAIL_FAST = click.option(
    "--fail-fast", is_flag=True, help="Start nothing more after the first failure."
)
_EVENTS = click.option(
    "--events", default="", metavar="FILE", help="Write the run's events as NDJSON."
)
_LOGS = click.option(
    "--output-logs",
    "logs",
    type=click.Choice(["full", "errors-only", "none"]),
    default="full",
    show_default=True,
    help="What is told of tasks while they run; errors always come at the end.",
)
_REMOVAL = (yes_option, _CONCURRENCY, _FAIL_FAST, _EVENTS, _LOGS)
_SOURCE = (
    click.option(
        "--source",
        default="",
        metavar="URL",
        help="Take the project in this .zip, .tar.gz or .tgz (https; http with a warning).",
    ),  # fmt: skip
    click.option(
        "--source-sha256", default="", metavar="HEX", help="The digest the archive must have."
    ),
)
_RUN = (
    _CONCURRENCY,
    click.option("--no-cache", is_flag=True, help="Run every task, whatever is remembered."),
    _FAIL_FAST,
    click.option("--out", default="", metavar="DIR", help="Copy the artifacts here as well."),
    _EVENTS,
    click.option("--profile", default="", metavar="FILE", help="Write a Chrome trace of the run."),
    _LOGS,
    click.option("--junit", default="", metavar="FILE", help="Write JUnit XML, a case a task."),
)


def examples(text: str) -> str:
    """An epilog that click leaves as it is."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in text.strip().splitlines())
