"""`dev`: build, invoke functions with preset events, show the responses, and repeat on edits."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.local.artifacts import NO_FUNCTIONS
from fabric.app.local.rebuilds import LocalBuild, Round, open_first_build
from fabric.app.local.serve import EXIT, ignore_end, read_typed_lines, stop_on_signal
from fabric.app.local.service import LocalService
from fabric.app.observing.noted_calls import open_local_calls
from fabric.app.project.compile_files import unknown_function_problem
from fabric.app.project.opened import Project
from fabric.app.project.plan_rows import encode_trigger
from fabric.app.project.project import open_project
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.config.values import Config, Function, QueueTrigger
from fabric.engine.bus import MakeListeners
from fabric.local.batches import BatchResult, build_batch, evaluate_batch, retry_batch
from fabric.model.calls.sample_events import sample_event
from fabric.model.names import TriggerKind
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.outcomes.queried import DevOutcome, PresetCall
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report, encode_problem
from fabric.model.text.spelling import find_nearest
from fabric.runtimes.calls.call_end import CallEnd, build_call_problem, decode_response
from fabric.runtimes.calls.event_lines import encode_call_event
from fabric.runtimes.calls.pool import HandlerPool
from fabric.system.event_loop import EventLoop

# Enough for some of them to come back.
_MESSAGES = 3


class Preset(Struct, frozen=True):
    """`reports`: the answer of a batch names the messages that failed."""

    function: str
    kind: str
    event: JsonObject
    reports: bool = False


def _list_presets(config: Config, kind: str, name: str = "") -> tuple[tuple[Preset, ...], str]:
    """List the preset calls, with a notice on the selection.

    Without a kind, each function uses its first trigger. With a kind, all functions with such a
    trigger are called, or otherwise the first function.
    """
    functions = _select_functions(config, name)
    if not kind:
        return tuple(_read_own_preset(one, config.provider.id) for one in functions), ""
    _refuse_unknown(kind)
    fitting = [one for one in functions if kind in _list_trigger_kinds(one)]
    if fitting:
        return tuple(_build_preset(one, kind, config.provider.id) for one in fitting), ""
    first = functions[0]
    note = f"no function has a trigger of type {kind}: calling `{first.name}` with a sample event"
    return (_build_preset(first, kind, ""),), "" if name else note


def _select_functions(config: Config, name: str) -> Sequence[Function]:
    if not config.functions:
        raise FabricError(NO_FUNCTIONS)
    if not name:
        built = tuple(one for one in config.functions if not one.build.package.existing)
        return built or config.functions
    found = [one for one in config.functions if one.name == name]
    if not found:
        raise FabricError(unknown_function_problem(name, [one.name for one in config.functions]))
    return found


def _refuse_unknown(kind: str) -> None:
    known = [one.value for one in TriggerKind]
    if kind not in known:
        guess = find_nearest(kind, known)
        hint = f"did you mean `{guess}`?" if guess else f"use one of {', '.join(known)}"
        raise FabricError(Problem("usage/unknown-preset", f"unknown preset `{kind}`", hint))


def _list_trigger_kinds(function: Function) -> Iterator[str]:
    return (str(encode_trigger(one, frozenset())["type"]) for one in function.triggers)


def _read_own_preset(function: Function, provider_id: str) -> Preset:
    kind = next(_list_trigger_kinds(function), TriggerKind.HTTP.value)
    return _build_preset(function, kind, provider_id)


def _get_batch_size(function: Function) -> int:
    sizes = (one.batch_size for one in function.triggers if isinstance(one, QueueTrigger))
    return next(sizes, _MESSAGES)


def _build_preset(function: Function, kind: str, provider_id: str) -> Preset:
    rows = (encode_trigger(one, frozenset()) for one in function.triggers)
    fields = next((row for row in rows if row["type"] == kind), {})
    event = sample_event(kind, fields, provider_id)
    if kind == TriggerKind.QUEUE:
        event = build_batch(event, min(_MESSAGES, _get_batch_size(function)))
    reports = any(
        isinstance(one, QueueTrigger) and bool(one.response_type) for one in function.triggers
    )
    return Preset(function.name, kind, event, reports)


class DevOptions(Struct, frozen=True):
    preset: str = ""
    watch: bool = False
    once: bool = False


class DevListeners(Struct, frozen=True):
    """Callbacks for each call, each difference from the provider, each new build, and the available
    next actions."""

    called: Callable[[PresetCall], None]
    warned: Callable[[Problem], None]
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
        outcome=DevOutcome(loop.last, tuple(map(encode_problem, loop.warnings))),
        text=None,
        notes=loop.note,
        problems=problems,
        warnings=(*first.warnings, *(loop.warnings if options.once else ())),
        exit_code=code,
    )


class _Choice(Struct, frozen=True):
    """The selected preset and function, resolved with the config."""

    preset: str
    function: str

    def presets(self, project: Project) -> tuple[tuple[Preset, ...], str]:
        return _list_presets(project.units[0].config, self.preset, self.function)


class _DevLoop:
    """The children of the functions, and the calls that are made of them."""

    def __init__(
        self, first: LocalBuild, choice: _Choice, settings: Settings, hearers: DevListeners
    ) -> None:
        self.loop = EventLoop()
        self.last: tuple[PresetCall, ...] = ()
        # Differences from the provider, each once.
        self.warnings: tuple[Problem, ...] = ()
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
        self._warn(end)

    def _warn(self, end: CallEnd) -> None:
        fresh = [one for one in end.warnings if one not in self.warnings]
        self.warnings = (*self.warnings, *fresh)
        for one in fresh:
            self._hearers.warned(one)

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
