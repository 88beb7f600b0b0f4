"""`fabric logs`, `metrics` and `traces`: observe invocations."""

import sys
from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import (
    COMPOSE_DEFAULT,
    CONFIG_DEFAULT,
    ComposeFile,
    Events,
    Functions,
    PlaceFlags,
    ScreenFlags,
    format_examples,
)
from fabric.cli.run_options import Otlp
from fabric.model.observed import LEVELS

if TYPE_CHECKING:
    from fabric.app.observing.observe import Observing
    from fabric.app.request import Request
    from fabric.app.settings import Settings
    from fabric.cli.perform import Caller, UseCase
    from fabric.cli.screen import Screen
    from fabric.model.observed import LogLine
    from fabric.model.report import Report

_SINCE = "10m"
_LINES = 1_000


class WhichCalls(Struct, frozen=True):
    """The selected calls and their time."""

    place: PlaceFlags
    functions: Functions
    all_services: Annotated[
        bool,
        click.option(
            "--all-services", is_flag=True, help="Include all services of the compose file."
        ),
    ]
    compose: ComposeFile
    since: Annotated[
        str,
        click.option(
            "--since",
            default=_SINCE,
            show_default=True,
            metavar="TIME",
            help="Start of the time range: 10m, 2h, or 2026-01-02T03:04:05Z.",
        ),
    ]
    until: Annotated[
        str,
        click.option(
            "--until", default="", metavar="TIME", help="End of the time range. [default: now]"
        ),
    ]


class LogOutputFlags(Struct, frozen=True):
    """The outputs of a query's events. No run log is written, because nothing changes."""

    events: Events
    otlp: Otlp


class LogsFlags(Struct, frozen=True):
    which: WhichCalls
    text: Annotated[
        str,
        click.option(
            "--filter",
            "text",
            default="",
            metavar="TEXT",
            help="Only show lines that contain this text.",
        ),
    ]
    level: Annotated[
        str,
        click.option("--level", type=click.Choice(LEVELS), default=None, help="Minimum log level."),
    ]
    limit: Annotated[
        int | None,
        click.option(
            "--limit",
            type=click.IntRange(1, 100_000),
            metavar="N",
            help="Maximum number of lines to show. [default: 1000]",
        ),
    ]
    platform: Annotated[
        bool,
        click.option(
            "--platform",
            is_flag=True,
            help="Include platform lines, such as start and end of an invocation.",
        ),
    ]
    follow: Annotated[
        bool, click.option("--follow", is_flag=True, help="Stream new lines until Ctrl-C.")
    ]
    ndjson: Annotated[
        bool,
        click.option(
            "--ndjson", is_flag=True, help="Print one JSON object per line as lines arrive."
        ),
    ]
    told: LogOutputFlags
    screen: ScreenFlags


class MetricsFlags(Struct, frozen=True):
    which: WhichCalls
    told: LogOutputFlags
    screen: ScreenFlags


class TracesFlags(Struct, frozen=True):
    trace: Annotated[str, click.argument("trace", default="", metavar="[ID]")]
    which: WhichCalls
    limit: Annotated[
        int,
        click.option(
            "--limit",
            type=click.IntRange(1, 10_000),
            default=50,
            show_default=True,
            metavar="N",
            help="Maximum number of traces to show.",
        ),
    ]
    told: LogOutputFlags
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric logs --since 1h --level error       errors of the last hour
fabric logs --follow --function hello      stream new lines until Ctrl-C
"""),
)
@pass_flags(LogsFlags)
def logs(flags: LogsFlags) -> int:
    """Show function logs.

    Lines of all providers are sorted by time. Local and simulated invocations are logged below
    .fabric/logs. Logs of real deployments are read from the provider. Times are local. Secret
    values are redacted.
    """
    _refuse_unfitting(flags)

    def use_case(request: "Request", caller: "Caller") -> "Report":
        asked = _parse_question("logs", flags.which, caller.settings)
        asked = replace(
            asked,
            text=flags.text,
            level=flags.level or "",
            most=flags.limit or _LINES,
            platform=flags.platform,
        )
        if flags.follow:
            return _follow_lines(request, caller, asked, as_json=flags.ndjson)
        report = _report_observed(request, caller, asked)
        return _convert_to_lines(report) if flags.ndjson else report

    return _perform("logs", flags, use_case)


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric metrics --since 24h                   invocations of the last day
fabric metrics --all-services --json
"""),
)
@pass_flags(MetricsFlags)
def metrics(flags: MetricsFlags) -> int:
    """Show invocation counts, errors and durations."""
    return _perform(
        "metrics",
        flags,
        lambda request, caller: _report_observed(
            request, caller, _parse_question("metrics", flags.which, caller.settings)
        ),
    )


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric traces --since 1h                     traces of the last hour
fabric traces 5f3a9c --since 1h              one trace with its steps
"""),
)
@pass_flags(TracesFlags)
def traces(flags: TracesFlags) -> int:
    """List traces, or show one trace as a tree.

    A prefix of the trace ID is sufficient.
    """

    def use_case(request: "Request", caller: "Caller") -> "Report":
        asked = replace(_parse_question("traces", flags.which, caller.settings), most=flags.limit)
        return _report_observed(request, caller, asked, one_trace=flags.trace)

    return _perform("traces", flags, use_case)


def _perform(
    command: str, flags: LogsFlags | MetricsFlags | TracesFlags, use_case: "UseCase"
) -> int:
    from fabric.cli.perform import Order, Outlets, perform

    told = flags.told
    outlets = Outlets(told.events, logs="none", otlp=told.otlp, journal=False)
    return perform(Order(_request(command, flags.which), flags.screen, outlets), use_case)


def _refuse_unfitting(flags: LogsFlags) -> None:
    from fabric.cli.option_groups import reject_ineffective_options

    if flags.follow and flags.screen.as_json:
        message = "--follow cannot be combined with --json"
        raise _usage_error("usage/conflict", message, "use --ndjson")
    if flags.ndjson and flags.screen.as_json:
        raise _usage_error(
            "usage/conflict", "--json cannot be combined with --ndjson", "remove one of them"
        )
    if flags.follow and flags.which.until:
        reject_ineffective_options(("--until",), "remove --until: --follow streams until Ctrl-C")
    if flags.follow and flags.limit:
        reject_ineffective_options(("--limit",), "use --since to choose where --follow starts")


def _usage_error(code: str, message: str, hint: str) -> Exception:
    from fabric.model.problems import FabricError, Problem

    return FabricError(Problem(code, message, hint))


def _request(command: str, which: WhichCalls) -> "Request":
    from fabric.cli.perform import build_question_request

    where = which.place.where
    if which.all_services:
        if which.place.config != CONFIG_DEFAULT:
            hint = "remove --config: --all-services reads the configs of the compose file"
            raise _usage_error(
                "usage/conflict", "--config cannot be combined with --all-services", hint
            )
        where = replace(where, config="", compose=which.compose)
    elif which.compose != COMPOSE_DEFAULT:
        hint = "add --all-services"
        raise _usage_error("usage/no-effect", "--file has no effect without --all-services", hint)
    return replace(build_question_request(command, where), functions=frozenset(which.functions))


def _parse_question(kind: str, which: WhichCalls, settings: "Settings") -> "Observing":
    from fabric.app.observing.observe import Observing, parse_time_window

    return Observing(kind, parse_time_window(which.since, which.until, settings.clock.now()))


def _report_observed(
    request: "Request", caller: "Caller", asked: "Observing", *, one_trace: str = ""
) -> "Report":
    from fabric.app.observing.observe import observe

    return observe(request, caller.settings, caller.make_listeners, asked, one_trace=one_trace)


def _convert_to_lines(report: "Report") -> "Report":
    """Convert the report so that each line is a JSON object."""
    from fabric.model.outcomes.watched import LogsOutcome
    from fabric.views.observed_text import encode_log_line

    outcome = report.outcome
    if not isinstance(outcome, LogsOutcome):
        return report
    return replace(report, text="\n".join(map(encode_log_line, outcome.found)))


def _follow_lines(
    request: "Request", caller: "Caller", asked: "Observing", *, as_json: bool
) -> "Report":
    from fabric.app.observing.follow import FollowListeners, follow

    screen = caller.screen
    hearers = FollowListeners(
        lambda lines: _print(lines, screen, as_json=as_json),
        lambda text: _print_notice(text, screen),
    )
    return follow(request, caller.settings, caller.make_listeners, asked, hearers)


def _print(lines: "list[LogLine]", screen: "Screen", *, as_json: bool) -> bool:
    """Whether anybody still reads."""
    from fabric.cli.screen import escape_for_terminal, give_up
    from fabric.views.observed_text import encode_log_line, format_log_line

    if as_json:
        text = "".join(f"{encode_log_line(one)}\n" for one in lines)
    else:
        text = escape_for_terminal(
            "".join(f"{format_log_line(one, screen.out)}\n" for one in lines)
        )
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        give_up(sys.stdout)
        return False
    return True


def _print_notice(text: str, screen: "Screen") -> None:
    from fabric.cli.screen import escape_for_terminal

    sys.stderr.write(escape_for_terminal(f"{screen.err.note('·')} {text}\n"))
    sys.stderr.flush()
