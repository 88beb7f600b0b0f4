"""`dev`: build, invoke functions with preset events, show the responses, and repeat on edits."""

import contextlib
from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.local.presets import Preset, list_presets
from fabric.app.local.rebuilds import LocalBuild, Round, open_first_build
from fabric.app.local.serve import EXIT, ignore_end, read_typed_lines, stop_on_signal
from fabric.app.local.service import LocalService
from fabric.app.observing.noted_calls import open_local_calls
from fabric.app.project.opened import Project
from fabric.app.project.project import open_project
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.engine.bus import MakeListeners
from fabric.local.batches import BatchResult, evaluate_batch, retry_batch
from fabric.model.outcomes.json_struct import Json
from fabric.model.outcomes.queried import DevOutcome, PresetCall
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report
from fabric.runtimes.calls.call_end import CallEnd, build_call_problem, decode_response
from fabric.runtimes.calls.event_lines import encode_call_event
from fabric.runtimes.calls.pool import HandlerPool
from fabric.system.event_loop import EventLoop


class DevOptions(Struct, frozen=True):
    preset: str = ""
    watch: bool = False
    once: bool = False


class DevListeners(Struct, frozen=True):
    """Callbacks for each call, each new build, and the available next actions."""

    called: Callable[[PresetCall], None]
    rebuilt: Callable[[Round], None]
    waiting: Callable[[DevOptions], None]


def run_dev_loop(
    request: Request,
    settings: Settings,
    make_listeners: MakeListeners,
    options: DevOptions,
    hearers: DevListeners,
) -> Report:
    choice = _Choice(options.preset, next(iter(request.functions), ""))
    # A slip is told before anything is built.
    choice.presets(open_project(request.where, settings))
    with open_first_build(request, settings, make_listeners, watch=options.watch) as first:
        loop = _DevLoop(first, choice, settings, hearers)
        with contextlib.closing(loop), first.rebuilt(loop.loop, loop.take, watch=options.watch):
            if options.once:
                loop.call_all()
            else:
                loop.go_on(options)
    failed = tuple(Problem("invoke/failed", one.error) for one in loop.last if one.error)
    problems = failed if options.once else ()
    code = ExitCode.FAILED if problems else ExitCode.OK
    return Report(
        command=request.command,
        outcome=DevOutcome(loop.last),
        text=None,
        notes=loop.note,
        problems=problems,
        warnings=first.warnings,
        exit_code=code,
    )


class _Choice(Struct, frozen=True):
    """The selected preset and function, resolved with the config."""

    preset: str
    function: str

    def presets(self, project: Project) -> tuple[tuple[Preset, ...], str]:
        return list_presets(project.units[0].config, self.preset, self.function)


class _DevLoop:
    """The children of the functions, and the calls that are made of them."""

    def __init__(
        self, first: LocalBuild, choice: _Choice, settings: Settings, hearers: DevListeners
    ) -> None:
        self.loop = EventLoop()
        self.last: tuple[PresetCall, ...] = ()
        self._pool = HandlerPool(self.loop, settings.env)
        self._service, self._choice, self._hearers = first.service, choice, hearers
        self._presets, self.note = choice.presets(first.project)
        self._under_way = 0
        self._is_over = False
        self._notes = open_local_calls(first.project, settings)
        self._put(first.service)

    def close(self) -> None:
        self._pool.close()
        self.loop.close()
        self._notes.close()

    def call_all(self) -> None:
        """And wait for all of them."""
        self._call(self._presets)
        self.loop.run_until(lambda: self._under_way == 0)

    def go_on(self, options: DevOptions) -> None:
        """Run until stopped. Without --watch also stop when input ends. An empty line repeats the
        call."""
        at_end = ignore_end if options.watch else self._end
        with stop_on_signal(self._end), read_typed_lines(self._handle_typed_line, at_end):
            self.call_all()
            self._hearers.waiting(options)
            self.loop.run_until(lambda: self._is_over)

    def take(self, found: Round) -> None:
        """Invoke the rebuilt functions again. Called by the event loop."""
        before = self._presets
        if found.project is not None:
            try:
                self._presets, _ = self._choice.presets(found.project)
            except FabricError as error:
                found = replace(found, service=None, problems=error.problems)
        self._hearers.rebuilt(found)
        if found.service is not None:
            self._put(found.service)
            fresh = (one for one in self._presets if one not in before)
            again = (one for one in self._presets if one.function in found.changed)
            self._call(tuple({one.function: one for one in (*again, *fresh)}.values()))

    def _end(self) -> None:
        self._is_over = True
        self.loop.post(lambda: None)

    def _handle_typed_line(self, line: str) -> None:
        if line == EXIT:
            self._end()
        elif not line:
            self.loop.post(lambda: self._call(self._presets))

    def _put(self, service: LocalService) -> None:
        self._service = service
        for one in service.functions.values():
            self._pool.put(one)
        for name in self._pool.pids.keys() - service.memory.keys():
            self._pool.drop(name)

    def _call(self, presets: tuple[Preset, ...]) -> None:
        fresh = [one for one in presets if one.function in self._service.functions]
        self.last = ()
        self._under_way += len(fresh)
        for preset in fresh:
            self._pool.when_ready(preset.function, partial(self._begin, preset))

    def _begin(self, preset: Preset) -> None:
        self._pool.call(
            preset.function,
            encode_call_event(preset.event),
            lambda end: self._handle_call_end(preset, end),
        )

    def _handle_call_end(self, preset: Preset, end: CallEnd) -> None:
        self._under_way -= 1
        self._notes.note(preset.function, end)
        call = self._build_preset_call(preset, end)
        self.last = (*self.last, call)
        self._hearers.called(call)

    def _build_preset_call(self, preset: Preset, end: CallEnd) -> PresetCall:
        problem = build_call_problem(preset.function, end)
        response: Json = None if problem else decode_response(end)
        batch = _parse_batch_result(preset, response, is_failed=problem is not None)
        return PresetCall(
            function=preset.function,
            preset=preset.kind,
            response=response,
            error=problem.message if problem else "",
            logs=end.said,
            ms=end.ms,
            messages_back=batch.back if batch else (),
            messages_done=batch.done if batch else (),
            batch_note=batch.why if batch else "",
        )


def _parse_batch_result(preset: Preset, response: Json, *, is_failed: bool) -> BatchResult | None:
    if preset.kind != "queue":
        return None
    if is_failed:
        return retry_batch(preset.event)
    return evaluate_batch(preset.event, response, reports=preset.reports)
