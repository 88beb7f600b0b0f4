"""Progress output of local servers and the dev loop."""

import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.app.local.dev import DevHearers, DevOptions, dev
from fabric.app.local.serve import Hearers, ServeOptions, serve
from fabric.app.local.service import LocalService
from fabric.app.request import Request
from fabric.cli.local_call import local_request
from fabric.cli.payload import event_in
from fabric.cli.perform import Caller, Order, perform
from fabric.cli.screen import Screen, safe
from fabric.cli.useless import refuse_useless
from fabric.local.exchange import ServedCall
from fabric.model.names import Verb
from fabric.model.outcomes.looked_up import PresetCall
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.views.served_text import (
    CallLine,
    broken_text,
    call_text,
    preset_text,
    ready_text,
    round_text,
)

if TYPE_CHECKING:
    from fabric.app.local.rebuilds import Round
    from fabric.cli.local_options import DevFlags, LocalFlags

_PORT, _INSTANCES = 8787, 4


def serve_until_exit(flags: "LocalFlags") -> int:
    def use_case(request: Request, caller: Caller) -> Report:
        template = event_in(flags.event, caller.settings.cwd) if flags.event else {}
        if not isinstance(template, dict):
            message = f"invalid event `{flags.event}`: with --serve it must be a JSON object"
            raise FabricError(Problem("input/bad-payload", message))
        options = ServeOptions(
            _PORT if flags.serving.port is None else flags.serving.port,
            flags.serving.watch,
            template,
            flags.serving.instances or _INSTANCES,
        )
        return serve(
            request, caller.settings, caller.make_listeners, options, hearers(caller.screen)
        )

    return perform(Order(local_request(flags), flags.screen), use_case)


def hearers(screen: Screen) -> Hearers:
    """Build the callbacks. They print progress to stderr."""

    def say(text: str) -> None:
        sys.stderr.write(safe(f"{text}\n"))
        sys.stderr.flush()

    def ready(url: str, service: LocalService) -> None:
        routes = tuple((one.method, one.path, one.function) for one in service.routes)
        routed = {one.function for one in service.routes}
        others = tuple(name for name in service.memory if name not in routed)
        say(ready_text(url, routes, others, screen.err))
        if service.broken:
            say(broken_text(tuple(dict.fromkeys(service.broken.values())), screen.err))

    def called(call: ServedCall) -> None:
        say(call_text(line_of(call), screen.err))

    def rebuilt(found: "Round") -> None:
        say(round_text(found.moved, found.changed, found.ms, screen.err))
        broken = found.service.broken if found.service else {}
        problems = found.problems or tuple(dict.fromkeys(broken.values()))
        if problems:
            say(broken_text(problems, screen.err))

    return Hearers(ready, called, rebuilt)


def run_dev(flags: "DevFlags") -> int:
    if flags.once and flags.watch:
        refuse_useless(("--watch",), "remove one of them: --once exits after the first invocation")
    options = DevOptions(flags.preset, flags.watch, flags.once)
    chosen = frozenset(filter(None, (flags.function,)))
    request = replace(Request(Verb.PACKAGE, "dev", flags.place.where), functions=chosen)

    def use_case(one: Request, caller: Caller) -> Report:
        told = dev_hearers(caller.screen)
        return dev(one, caller.settings, caller.make_listeners, options, told)

    return perform(Order(request, flags.screen), use_case)


def dev_hearers(screen: Screen) -> DevHearers:
    """Build the callbacks. Calls go to stdout if they are the only result; next steps go to
    stderr."""
    told = hearers(screen)

    def called(call: PresetCall) -> None:
        if not screen.as_json:
            sys.stdout.write(safe(f"{preset_text(call, screen.out)}\n"))
            sys.stdout.flush()

    def waiting(options: DevOptions) -> None:
        again = "Press Enter to invoke again"
        words = f"{again}, or edit a file" if options.watch else again
        sys.stderr.write(
            safe(screen.err.dim(f"{words}. Type `exit` or press Ctrl-C to stop.") + "\n")
        )
        sys.stderr.flush()

    return DevHearers(called, told.rebuilt, waiting)


def line_of(call: ServedCall) -> CallLine:
    end = call.end
    why = end.failure.message if end.failure else ""
    return CallLine(
        call.method,
        call.path,
        call.status,
        call.function,
        end.ms,
        end.memory,
        end.said,
        why,
        call.warning,
    )
