"""Run a command: settings, screen, listeners, use case and report files."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.request import CacheOptions, Detail, Request, Where
from fabric.app.selection import run_chosen
from fabric.app.settings import Settings
from fabric.cli.options import ScreenFlags, SourceFlags
from fabric.cli.screen import Screen
from fabric.cli.start import get_command_start
from fabric.model.names import Verb
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.report import Report, make_failure_report
from fabric.model.runs.executor import parse_executor
from fabric.system.files.disk import make_folder
from fabric.system.files.new_files import write_named

if TYPE_CHECKING:
    from fabric.app.command import CommandLine
    from fabric.cli.options import ComposeFlags, FunctionFlags
    from fabric.cli.run_options import RunFlags
    from fabric.engine.bus import Listener, MakeListeners, RunInfo


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
    request = replace(
        order.request,
        detail=Detail(
            profiled=order.request.detail.profiled, cases=_is_detail_needed(settings, junit)
        ),
    )
    caller = Caller(
        settings,
        screen,
        _make_listeners(screen, settings, order.outlets),
        screen.command_line(start.argv) if order.may_be_kept else None,
    )
    _refuse_unwritable(settings, junit, order.outlets.profile)
    _refuse_no_collector(order.outlets.otlp, settings)
    report = _write_report_files(
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
        from fabric.cli.progress.lines import Logs
        from fabric.cli.progress.listeners import ListenerOptions, build_run_listeners

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
        caching=CacheOptions(
            use_cache=not run.no_cache,
            modes=run.sharing.cache,
            upload_wait=run.sharing.upload_wait,
        ),
        execution=replace(
            request.execution,
            concurrency=run.concurrency,
            fail_fast=run.fail_fast,
            strict=run.strict,
        ),
        out=run.outputs.out,
        detail=Detail(profiled=bool(run.outputs.profile)),
        executor=parse_executor(run.executor) if run.executor else None,
    )


def list_outlets(run: "RunFlags") -> Outlets:
    return Outlets(
        run.outputs.events,
        run.outputs.profile,
        run.outputs.logs,
        run.outputs.junit,
        run.outputs.otlp,
    )


def build_question_request(command: str, where: Where) -> Request:
    """Build a request without a verb, about deployed or past state."""
    return Request(Verb.DEPLOY, command, where)


_SUMMARISED = ("plan", "deploy")


def _is_detail_needed(settings: Settings, junit: str = "") -> bool:
    """Return whether a report must contain more than the terminal shows."""
    return bool(junit or settings.summary)


def _refuse_unwritable(settings: Settings, *files: str) -> None:
    """Reject unwritable output files before anything runs."""
    for path in (settings.cwd / file for file in files if file):
        make_folder(path.parent)
        there = path if path.exists() else path.parent
        if path.is_dir() or not os.access(there, os.W_OK):
            what = "is a directory" if path.is_dir() else "permission denied"
            message = f"cannot write `{path}`: {what}"
            raise FabricError(Problem("disk/cannot-write", message, where=Place(str(path))))


def _write_report_files(
    command: str, settings: Settings, make: Callable[[], Report], junit: str = ""
) -> Report:
    """Write the report's files and return it. An early failure writes them too."""
    try:
        report = make()
    except FabricError as error:
        report = make_failure_report(command, error)
    if junit:
        from fabric.views.ci_reports import format_junit as junit_xml

        write_named(settings.cwd / junit, junit_xml(report).encode())
    if settings.summary and report.command.rpartition(" ")[2] in _SUMMARISED:
        return _write_summary(report, Path(settings.summary))
    return report


def _write_summary(report: Report, path: Path) -> Report:
    from fabric.views.ci_reports import format_job_summary

    text = format_job_summary(report)
    try:
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        problem = Problem("disk/summary", f"cannot write the job summary: {error.strerror}")
        return replace(report, warnings=(*report.warnings, problem))
    return report
