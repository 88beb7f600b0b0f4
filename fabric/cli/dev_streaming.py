"""`invoke dev`: from its options to its progress output."""

import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.app.local.dev_stream import DevStreamOptions, StreamSubscribers, run_dev_stream
from fabric.app.local.restore import restore_wired
from fabric.app.request import Request
from fabric.cli.consent import build_word_prompt
from fabric.cli.local_serving import build_serve_listeners
from fabric.cli.option_groups import reject_ineffective_options
from fabric.cli.perform import Caller, Order, build_question_request, perform
from fabric.cli.screen import Screen, escape_for_terminal
from fabric.model.names import Verb
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.model.time.time_spans import parse_seconds
from fabric.views.messages import format_problem
from fabric.views.served_text import back_text, format_diverted, format_restored

if TYPE_CHECKING:
    from fabric.cli.stream_options import StreamFlags

_COMMAND = "invoke dev"


def stream_until_exit(flags: "StreamFlags") -> int:
    if not flags.tunnel_url:
        hint = f"open a tunnel to port {flags.port_here} and pass its URL"
        raise FabricError(Problem("usage/no-tunnel", "missing option --tunnel-url", hint))
    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)

    def use_case(request: Request, caller: Caller) -> Report:
        ask = build_word_prompt(caller.screen, caller.settings)
        options = DevStreamOptions(
            flags.tunnel_url, flags.port_here, flags.allow_prod, timeout, ask
        )
        told = stream_hearers(caller.screen)
        return run_dev_stream(request, caller.settings, caller.make_listeners, options, told)

    return perform(Order(Request(Verb.PACKAGE, _COMMAND, flags.where), flags.screen), use_case)


def restore_routes(flags: "StreamFlags") -> int:
    reject_ineffective_options(
        flags.of_serving, "remove it, or remove --restore: --restore serves no requests"
    )
    timeout = parse_seconds("--lock-timeout", flags.lock_timeout)
    return perform(
        Order(build_question_request(_COMMAND, flags.where), flags.screen),
        lambda one, caller: restore_wired(one, caller.settings, timeout),
    )


def stream_hearers(screen: Screen) -> StreamSubscribers:
    """Build the callbacks. They print progress to stderr."""

    def print_line(text: str) -> None:
        sys.stderr.write(escape_for_terminal(f"{text}\n"))
        sys.stderr.flush()

    served = build_serve_listeners(screen)
    return StreamSubscribers(
        replace(served, ready=lambda url, service: served.ready(url, replace(service, memory={}))),
        lambda service: print_line(format_restored(service, screen.err)),
        lambda tunnel, routes: print_line(format_diverted(tunnel.url, routes.turned, screen.err)),
        lambda problem: print_line(format_problem(problem, screen.err, severity="warning")),
        lambda routes: print_line(back_text(routes.left_alone, screen.err)),
    )
