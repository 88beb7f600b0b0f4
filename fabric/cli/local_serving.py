"""Progress output of local servers and the dev loop."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.app.local.dev import DevListeners, DevOptions, run_dev_loop
from fabric.app.local.serve import ServeListeners, ServeOptions, serve
from fabric.app.local.service import LocalService
from fabric.app.request import Request
from fabric.cli.local_call import build_local_request
from fabric.cli.option_groups import reject_ineffective_options
from fabric.cli.payload import read_event_file
from fabric.cli.perform import Caller, Order, perform
from fabric.cli.screen import Screen, escape_for_terminal
from fabric.local.exchange import ServedCall
from fabric.model.names import Verb
from fabric.model.outcomes.queried import PresetCall
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.views.messages import format_warnings
from fabric.views.served_text import (
    CallLine,
    call_text,
    format_broken_build,
    format_preset_call,
    format_ready,
    round_text,
)

if TYPE_CHECKING:
    from fabric.app.local.rebuilds import Round
    from fabric.cli.local_options import DevFlags, LocalFlags
    from fabric.local.access import TokenKeys

_PORT, _INSTANCES = 8787, 4


def serve_until_exit(flags: "LocalFlags") -> int:
    def use_case(request: Request, caller: Caller) -> Report:
        template = read_event_file(flags.event, caller.settings.cwd) if flags.event else {}
        if not isinstance(template, dict):
            message = f"invalid event `{flags.event}`: with --serve it must be a JSON object"
            raise FabricError(Problem("input/bad-payload", message))
        options = ServeOptions(
            _PORT if flags.serving.port is None else flags.serving.port,
            flags.serving.watch,
            template,
            flags.serving.instances or _INSTANCES,
            keys=_read_keys(flags.serving.jwks, caller.settings.cwd),
        )
        return serve(
            request,
            caller.settings,
            caller.make_listeners,
            options,
            build_serve_listeners(caller.screen),
        )

    return perform(Order(build_local_request(flags), flags.screen), use_case)


def _read_keys(name: str, folder: Path) -> "TokenKeys | None":
    if not name:
        return None
    from fabric.system.crypto.key_sets import read_key_set

    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        message = f"invalid value for --jwks: `{name}` cannot be read"
        raise FabricError(Problem("usage/bad-value", message, "use a JWKS file")) from error
    return read_key_set(name, content)


def build_serve_listeners(screen: Screen) -> ServeListeners:
    """Build the callbacks. They print progress to stderr."""

    def print_line(text: str) -> None:
        sys.stderr.write(escape_for_terminal(f"{text}\n"))
        sys.stderr.flush()

    def print_ready(url: str, service: LocalService) -> None:
        routes = tuple((one.key, one.function) for one in service.routes)
        routed = {one.function for one in service.routes}
        others = tuple(name for name in service.memory if name not in routed)
        print_line(format_ready(url, routes, others, screen.err))
        if service.broken:
            print_line(
                format_broken_build(tuple(dict.fromkeys(service.broken.values())), screen.err)
            )

    def print_call(call: ServedCall) -> None:
        print_line(call_text(build_call_line(call), screen.err))

    def print_rebuild(found: "Round") -> None:
        print_line(round_text(found.moved, found.changed, found.ms, screen.err))
        broken = found.service.broken if found.service else {}
        problems = found.problems or tuple(dict.fromkeys(broken.values()))
        if problems:
            print_line(format_broken_build(problems, screen.err))

    return ServeListeners(print_ready, print_call, print_rebuild)


def run_dev(flags: "DevFlags") -> int:
    if flags.once and flags.watch:
        reject_ineffective_options(
            ("--watch",), "remove one of them: --once exits after the first invocation"
        )
    options = DevOptions(flags.preset, flags.watch, flags.once)
    chosen = frozenset(filter(None, (flags.function,)))
    request = replace(Request(Verb.PACKAGE, "dev", flags.place.where), functions=chosen)

    def use_case(one: Request, caller: Caller) -> Report:
        told = build_dev_listeners(caller.screen, once=options.once)
        return run_dev_loop(one, caller.settings, caller.make_listeners, options, told)

    return perform(Order(request, flags.screen), use_case)


def build_dev_listeners(screen: Screen, *, once: bool) -> DevListeners:
    """Build the callbacks. Calls go to stdout if they are the only result; next steps go to
    stderr. Warnings of a single round are part of the report."""
    told = build_serve_listeners(screen)

    def print_preset_call(call: PresetCall) -> None:
        if not screen.as_json:
            sys.stdout.write(escape_for_terminal(f"{format_preset_call(call, screen.out)}\n"))
            sys.stdout.flush()

    def print_warning(problem: Problem) -> None:
        if not once:
            text = "".join(f"{line}\n" for line in format_warnings((problem,), screen.err))
            sys.stderr.write(escape_for_terminal(text))
            sys.stderr.flush()

    def print_waiting(options: DevOptions) -> None:
        again = "Press Enter to invoke again"
        words = f"{again}, or edit a file" if options.watch else again
        sys.stderr.write(
            escape_for_terminal(
                screen.err.dim(f"{words}. Type `exit` or press Ctrl-C to stop.") + "\n"
            )
        )
        sys.stderr.flush()

    return DevListeners(print_preset_call, print_warning, told.rebuilt, print_waiting)


def build_call_line(call: ServedCall) -> CallLine:
    end = call.end
    why = end.failure.message if end.failure else ""
    return CallLine(
        method=call.method,
        path=call.path,
        status=call.status,
        function=call.function,
        ms=end.ms,
        memory=end.memory,
        logs=end.said,
        why=why,
        warning=call.warning,
    )
