"""`invoke dev`: from its options to its progress output."""

import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.app.local.dev_stream import DevStreamOptions, StreamHearers, dev_stream
from fabric.app.local.restore import restore_wired
from fabric.app.request import Request
from fabric.cli.consent import word_asker
from fabric.cli.local_serving import hearers
from fabric.cli.perform import Caller, Order, perform, question
from fabric.cli.screen import Screen, safe
from fabric.cli.useless import refuse_useless
from fabric.model.names import Verb
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report
from fabric.model.time_spans import seconds_of
from fabric.views.streamed_text import back_text, restored_text, wired_text
from fabric.views.words import problem_text

if TYPE_CHECKING:
    from fabric.cli.stream_options import StreamFlags

_COMMAND = "invoke dev"


def stream_until_exit(flags: "StreamFlags") -> int:
    if not flags.tunnel_url:
        hint = f"open a tunnel to port {flags.port_here} and pass its URL"
        raise FabricError(Problem("usage/no-tunnel", "missing option --tunnel-url", hint))
    timeout = seconds_of("--lock-timeout", flags.lock_timeout)

    def use_case(request: Request, caller: Caller) -> Report:
        ask = word_asker(caller.screen, caller.settings)
        options = DevStreamOptions(
            flags.tunnel_url, flags.port_here, flags.allow_prod, timeout, ask
        )
        told = stream_hearers(caller.screen)
        return dev_stream(request, caller.settings, caller.make_listeners, options, told)

    return perform(Order(Request(Verb.PACKAGE, _COMMAND, flags.where), flags.screen), use_case)


def restore_routes(flags: "StreamFlags") -> int:
    refuse_useless(flags.of_serving, "remove it, or remove --restore: --restore serves no requests")
    timeout = seconds_of("--lock-timeout", flags.lock_timeout)
    return perform(
        Order(question(_COMMAND, flags.where), flags.screen),
        lambda one, caller: restore_wired(one, caller.settings, timeout),
    )


def stream_hearers(screen: Screen) -> StreamHearers:
    """Build the callbacks. They print progress to stderr."""

    def say(text: str) -> None:
        sys.stderr.write(safe(f"{text}\n"))
        sys.stderr.flush()

    served = hearers(screen)
    return StreamHearers(
        replace(served, ready=lambda url, service: served.ready(url, replace(service, memory={}))),
        lambda service: say(restored_text(service, screen.err)),
        lambda tunnel, routes: say(wired_text(tunnel.url, routes.turned, screen.err)),
        lambda problem: say(problem_text(problem, screen.err, severity="warning")),
        lambda routes: say(back_text(routes.left_alone, screen.err)),
    )
