"""Run a command: settings, screen, listeners, use case and report files."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.request import Request, Where
from fabric.app.selection import run_chosen
from fabric.app.settings import Settings
from fabric.cli.options import ScreenFlags, SourceFlags
from fabric.cli.report_files import is_detail_needed, refuse_unwritable, write_report_files
from fabric.cli.screen import Screen
from fabric.cli.start import get_command_start
from fabric.model.executor import parse_executor
from fabric.model.names import Verb
from fabric.model.report import Report

if TYPE_CHECKING:
    from fabric.app.command import CommandLine
    from fabric.cli.options import ComposeFlags, FunctionFlags
    from fabric.cli.run_options import RunFlags
    from fabric.engine.bus import Listener
    from fabric.engine.run_info import MakeListeners, RunInfo


class Outlets(Struct, frozen=True):
    """The outputs of a run's events: files and terminal. Without `journal` no run log is
    written."""

    events: str = ""
    profile: str = ""
    logs: str = "full"
    junit: str = ""
    otlp: str = ""
    journal: bool = True

    def has_no_output(self, settings: Settings) -> bool:
        """Return whether the run has no output."""
        if self.journal or self.events or self.otlp or self.profile or self.logs != "none":
            return False
        if not any(name.startswith("OTEL_") for name in settings.env):
            return True
        from fabric.system.tracing import is_wanted

        return not is_wanted(settings.env)


class Order(Struct, frozen=True):
    """A command line that is understood. An answer `may_be_kept` if it hangs on nothing but the
    project, its state and the environment."""

    request: Request
    screen: ScreenFlags
    outlets: Outlets = Outlets()
    source: SourceFlags | None = None
    may_be_kept: bool = False


class Caller(Struct, frozen=True):
    """The inputs of a use case beside its request."""

    settings: Settings
    screen: Screen
    make_listeners: "MakeListeners"
    command_line: "CommandLine | None" = None


UseCase: TypeAlias = Callable[[Request, Caller], Report]


def perform(order: Order, use_case: UseCase) -> int:
    """Run a use case over the selected services, print its report and return the exit code."""
    start = get_command_start()
    settings = start.settings
    screen = Screen.of(settings, as_json=order.screen.as_json, colour=order.screen.color)
    junit = order.outlets.junit
    request = replace(order.request, detailed=is_detail_needed(settings, junit))
    caller = Caller(
        settings,
        screen,
        _make_listeners(screen, settings, order.outlets),
        screen.command_line(start.argv) if order.may_be_kept else None,
    )
    refuse_unwritable(settings, junit, order.outlets.profile)
    _refuse_no_collector(order.outlets.otlp, settings)
    report = write_report_files(
        request.command, settings, lambda: _answer_order(order, request, caller, use_case), junit
    )
    return screen.finish(report)


def _refuse_no_collector(otlp: str, settings: Settings) -> None:
    if otlp:
        from fabric.system.tracing import refuse_address

        refuse_address("--otlp", otlp, settings.env)


def _answer_order(order: Order, request: Request, caller: Caller, use_case: UseCase) -> Report:
    if order.source is None or not order.source.source:
        return run_chosen(request, caller.settings, lambda one: use_case(one, caller))
    from fabric.app.remote_source import RemoteSource, fetch_remote_source, keep_deployed

    source = RemoteSource(order.source.source, order.source.source_sha256)
    with fetch_remote_source(source, request, caller.settings) as found:
        report = use_case(found.request, replace(caller, settings=found.settings))
        keep_deployed(found, report)
    return replace(report, warnings=(*found.warnings, *report.warnings))


def _make_listeners(screen: Screen, settings: Settings, outlets: Outlets) -> "MakeListeners":
    """Return the listener factory. Its modules are imported only once a run starts."""

    def make(info: "RunInfo") -> "Sequence[Listener]":
        if outlets.has_no_output(settings):
            return ()
        from fabric.cli.progress.listeners import ListenerOptions, build_run_listeners
        from fabric.cli.progress.log_lines import Logs

        options = ListenerOptions(
            outlets.events, outlets.profile, Logs(outlets.logs), outlets.otlp, outlets.journal
        )
        return build_run_listeners(screen, settings, options, info)

    return make


def run_request(
    verb: Verb, command: str, chosen: "FunctionFlags | ComposeFlags", run: "RunFlags"
) -> Request:
    """A request to run tasks."""
    functions = frozenset(chosen.functions)
    return with_run(Request(verb, command, chosen.where, functions=functions), run)


def with_run(request: Request, run: "RunFlags") -> Request:
    """Return the request with these run options."""
    return replace(
        request,
        concurrency=run.concurrency,
        use_cache=not run.no_cache,
        cache_modes=run.sharing.cache,
        upload_wait=run.sharing.upload_wait,
        fail_fast=run.fail_fast,
        strict=run.strict,
        out=run.out,
        profiled=bool(run.profile),
        executor=parse_executor(run.executor) if run.executor else None,
    )


def list_outlets(run: "RunFlags") -> Outlets:
    return Outlets(run.events, run.profile, run.logs, run.junit, run.otlp)


def build_question_request(command: str, where: Where) -> Request:
    """Build a request without a verb, about deployed or past state."""
    return Request(Verb.DEPLOY, command, where)
