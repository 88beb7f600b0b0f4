"""One local invocation: convert flags to its input."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.app.local.one_shot import OneCall, invoke_local
from fabric.app.request import Request
from fabric.cli.option_groups import reject_ineffective_options
from fabric.cli.payload import read_event
from fabric.cli.perform import Caller, Order, perform
from fabric.model.names import Verb
from fabric.model.report import Report

if TYPE_CHECKING:
    from fabric.app.local.http_input import HttpInput
    from fabric.cli.local_options import LocalFlags


def refuse_unfitting(flags: "LocalFlags") -> None:
    """Options that would have no effect, or that say two things."""
    if flags.serving.serve:
        reject_ineffective_options(
            flags.http.given, "remove it: with --serve, requests come from HTTP clients"
        )
        return
    reject_ineffective_options(flags.serving.given, "add --serve")
    if flags.http.given:
        if not flags.http.path:
            reject_ineffective_options(flags.http.given, "add --path, such as --path /users/7")
        if flags.event:
            hint = f"remove it, or remove {flags.http.given[0]}: an invocation has one input"
            reject_ineffective_options(("--event",), hint)


def call_once(flags: "LocalFlags") -> int:
    http = _parse_http(flags)

    def use_case(request: Request, caller: Caller) -> Report:
        settings = caller.settings
        event = None if http else read_event(flags.event, settings)
        call = OneCall(flags.function, event, http)
        return invoke_local(request, settings, caller.make_listeners, call)

    return perform(Order(build_local_request(flags), flags.screen), use_case)


def _parse_http(flags: "LocalFlags") -> "HttpInput | None":
    said = flags.http
    if not said.given:
        return None
    from fabric.app.local.http_input import parse_http_input

    return parse_http_input(said.method, said.path, said.query, said.header, said.body)


def build_local_request(flags: "LocalFlags") -> Request:
    chosen = frozenset(filter(None, (flags.function,)))
    return replace(Request(Verb.PACKAGE, "invoke local", flags.place.where), functions=chosen)
